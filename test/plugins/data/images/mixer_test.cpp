// SPDX-License-Identifier: Apache-2.0
// Mixed images and labels: mixup and CutMix by their formulas, depending only on seed, epoch and
// example; and labels with a share for each class.
#include "data/images/mixer.h"

#include <cmath>
#include <cstring>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

namespace mixer_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr std::int64_t kSide = 8, kClasses = 4, kExamples = 64;
constexpr std::size_t kSize = kSide * kSide;

data::SyntheticConfig config_of(double mixup, double cutmix, std::int64_t batch_size = kExamples) {
  data::SyntheticConfig config;
  config.image_shape = {kSide, kSide, 1};
  config.num_classes = kClasses;
  config.examples = kExamples;
  config.batch_size = batch_size;
  config.augment.mixup_alpha = mixup;
  config.augment.cutmix_alpha = cutmix;
  return config;
}

struct Data {
  std::vector<float> images, labels;  // labels [n, classes]
};

Data read(const data::SyntheticConfig& config, Phase phase = Phase::training, int batches = 1) {
  InputContext context{.phase = phase, .name = "input"};
  data::SyntheticInput input(config, context);
  Data data;
  for (int i = 0; i < batches; ++i) {
    const Batch batch = *input.get_next();
    for (const float pixel : batch.at("image").to_host<float>()) data.images.push_back(pixel);
    const Tensor& label = batch.at("label");
    if (label.rank() == 2) {
      for (const float share : label.to_host<float>()) data.labels.push_back(share);
    } else {
      for (const std::int32_t number : label.to_host<std::int32_t>()) {
        for (int c = 0; c < kClasses; ++c) data.labels.push_back(c == number ? 1.0F : 0.0F);
      }
    }
  }
  return data;
}

// The share of `plain`'s example i in the label of `mixed`'s example, where the two classes differ.
double own_share(const Data& plain, const Data& mixed, std::size_t i) {
  for (std::size_t c = 0; c < kClasses; ++c) {
    if (plain.labels[i * kClasses + c] == 1) {
      return static_cast<double>(mixed.labels[i * kClasses + c]);
    }
  }
  return -1;
}

std::string numbers(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string dict(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

}  // namespace

TEST_CASE("mixup is a weighted sum with another example, of image and label alike") {
  const Data plain = read(config_of(0, 0));
  const Data mixed = read(config_of(0.4, 0));
  std::set<std::size_t> partners;
  for (std::size_t i = 0; i < kExamples; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      sum += static_cast<double>(mixed.labels[i * kClasses + c]);
    }
    CHECK(sum == Approx(1));
    // One other example explains all pixels and the label.
    std::size_t found = 0;
    for (std::size_t j = 0; j < kExamples; ++j) {
      double top = 0, bottom = 0;  // least squares for the own share
      for (std::size_t p = 0; p < kSize; ++p) {
        const double other = static_cast<double>(plain.images[j * kSize + p]);
        const double gap = static_cast<double>(plain.images[i * kSize + p]) - other;
        top += gap * (static_cast<double>(mixed.images[i * kSize + p]) - other);
        bottom += gap * gap;
      }
      const double share = bottom > 0 ? top / bottom : 1;
      double error = 0;
      for (std::size_t p = 0; p < kSize; ++p) {
        error = std::max(error,
                         std::abs(share * static_cast<double>(plain.images[i * kSize + p]) +
                                  (1 - share) * static_cast<double>(plain.images[j * kSize + p]) -
                                  static_cast<double>(mixed.images[i * kSize + p])));
      }
      for (std::size_t c = 0; c < kClasses; ++c) {
        const double label = share * static_cast<double>(plain.labels[i * kClasses + c]) +
                             (1 - share) * static_cast<double>(plain.labels[j * kClasses + c]);
        error =
            std::max(error, std::abs(label - static_cast<double>(mixed.labels[i * kClasses + c])));
      }
      if (error < 1e-5) {
        ++found;
        partners.insert(j);
      }
    }
    CHECK(found >= 1);
  }
  CHECK(partners.size() > kExamples / 4);
}

TEST_CASE("CutMix replaces a rectangle, and the label has its share of the area") {
  const Data plain = read(config_of(0, 0));
  const Data mixed = read(config_of(0, 1));
  std::size_t cut = 0;
  for (std::size_t i = 0; i < kExamples; ++i) {
    std::size_t top = kSide, bottom = 0, left = kSide, right = 0, changed = 0;
    for (std::size_t p = 0; p < kSize; ++p) {
      if (plain.images[i * kSize + p] == mixed.images[i * kSize + p]) continue;
      ++changed;
      top = std::min(top, p / kSide), bottom = std::max(bottom, p / kSide + 1);
      left = std::min(left, p % kSide), right = std::max(right, p % kSide + 1);
    }
    const double share = own_share(plain, mixed, i);
    if (changed == 0) continue;  // no rectangle, or the partner is the example itself
    ++cut;
    const auto area = static_cast<double>((bottom - top) * (right - left));
    CHECK(static_cast<double>(changed) >= 0.9 * area);  // few pixels of two images are equal
    const double expected = 1 - area / kSize;
    CHECK((share == Approx(expected).margin(0.05) || share == Approx(1)));
  }
  CHECK(cut > kExamples / 2);
}

TEST_CASE("shares are from Beta(alpha, alpha)") {
  // Its mean is 1/2 and its variance 1 / (4 (2 alpha + 1)).
  for (const double alpha : {0.2, 1.0, 4.0}) {
    const data::Mixer mixer(config_of(alpha, 0), {kSide, kSide, 1}, kExamples, "input");
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double share = mixer.mix_of(0, i)->own_share;
      REQUIRE((share >= 0 && share <= 1));
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    CAPTURE(alpha);
    CHECK(sum / kDraws == Approx(0.5).margin(0.015));
    CHECK(squares / kDraws == Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.05));
  }
  // Below the smallest double, too.
  const data::Mixer tiny(config_of(1e-4, 0), {kSide, kSide, 1}, kExamples, "input");
  for (int i = 0; i < 100; ++i) CHECK(std::isfinite(tiny.mix_of(0, i)->own_share));
}

TEST_CASE("prob and switch_prob say how many images are mixed and cut") {
  data::SyntheticConfig config = config_of(1, 1);
  config.augment.prob = 0.5;
  config.augment.switch_prob = 0.25;
  const data::Mixer mixer(config, {kSide, kSide, 1}, kExamples, "input");
  int mixed = 0, cut = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto mix = mixer.mix_of(3, i);
    mixed += mix ? 1 : 0;
    cut += mix && mix->cut ? 1 : 0;
  }
  CHECK(std::abs(mixed - 5000) < 250);
  CHECK(std::abs(cut - mixed / 4) < 200);
}

TEST_CASE("what an image is mixed with depends on seed, epoch and example, not on the batch") {
  const Data whole = read(config_of(0.4, 0.4));
  CHECK(read(config_of(0.4, 0.4, 16), Phase::training, 4).images == whole.images);
  data::SyntheticConfig config = config_of(0.4, 0.4);
  const Data two = read(config, Phase::training, 2);
  const std::vector<float> second(two.images.begin() + kExamples * kSize, two.images.end());
  CHECK(second != whole.images);
  config.seed = 9;
  CHECK(read(config).labels != whole.labels);
  // Evaluations see the images as they are, with numbers for labels.
  InputContext context{.phase = Phase::evaluation, .name = "input"};
  data::SyntheticInput input(config_of(0.4, 0.4), context);
  CHECK(input.get_next()->at("label").dtype() == DType::i32);
}

TEST_CASE("mixed images need the number of classes, and a shape") {
  data::SyntheticConfig config = config_of(0.4, 0);
  config.num_classes = 0;
  InputContext context{.phase = Phase::training, .name = "input"};
  CHECK_THAT(input_error([&] { data::SyntheticInput(config, context); }),
             Contains("mixed images need num_classes"));
  CHECK_THAT(input_error([&] { data::Mixer(config_of(1, 0), {7}, 3, "rows"); }),
             Contains("rows: augment needs images [height, width, channels]"));
}

TEST_CASE("a NumPy file may have a share for each class") {
  const TempDir dir;
  data::NpyConfig config;
  config.batch_size = 2;
  config.shuffle = false;
  config.images = {
      dir.write("x.npy", npy(dict("<f4", "(2, 3)"), numbers({1, 2, 3, 4, 5, 6}))).string()};
  const auto labels = [&](const std::string& shape, const std::vector<float>& shares) {
    config.labels = {dir.write("y.npy", npy(dict("<f4", shape), numbers(shares))).string()};
  };
  labels("(2, 2)", {0.25F, 0.75F, 1, 0});
  InputContext context{.phase = Phase::evaluation, .name = "input"};
  const Batch batch = *data::NpyInput(config, context).get_next();
  CHECK(batch.at("label").shape() == Shape{2, 2});
  CHECK(batch.at("label").to_host<float>() == std::vector<float>{0.25F, 0.75F, 1, 0});

  labels("(2, 2)", {0.25F, 0.75F, 1.5F, 0});
  CHECK_THAT(complaint<data::NpyInput>(config),
             Contains("record 1 has 1.5") && Contains("class 0, which is not in 0 to 1"));
  labels("(2, 2)", {0.25F, std::nanf(""), 1, 0});
  CHECK_THAT(complaint<data::NpyInput>(config), Contains("record 0 has"));
  config.num_classes = 3;
  labels("(2, 2)", {0, 1, 1, 0});
  CHECK_THAT(complaint<data::NpyInput>(config),
             Contains("labels of 2 classes, and num_classes is 3"));
  config.num_classes = 0;
  labels("(2, 1)", {0, 1});
  CHECK_THAT(complaint<data::NpyInput>(config), Contains("each of two or more classes"));
  labels("(2, 1, 1)", {0, 1});
  CHECK_THAT(complaint<data::NpyInput>(config), Contains("has 3 axes"));
}

}  // namespace mixer_test
