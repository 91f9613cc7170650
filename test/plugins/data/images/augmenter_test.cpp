// SPDX-License-Identifier: Apache-2.0
// Random crops and flips: each image is shifted or mirrored, depending only on seed, epoch and
// example.
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr std::int64_t kHeight = 5, kWidth = 4, kChannels = 2;
constexpr std::size_t kSize = kHeight * kWidth * kChannels;
using Image = std::vector<float>;

data::SyntheticConfig plain_config(std::int64_t batch_size = 64) {
  data::SyntheticConfig config;
  config.image_shape = {kHeight, kWidth, kChannels};
  config.num_classes = 3;
  config.examples = 64;
  config.batch_size = batch_size;
  config.mean = {0.25, 0.5};
  config.std = {0.5, 0.25};
  return config;
}

data::SyntheticConfig augmented_config(std::int64_t batch_size = 64) {
  data::SyntheticConfig config = plain_config(batch_size);
  config.augment = {.crop_padding = 1, .horizontal_flip = true};
  return config;
}

data::SyntheticInput made(const data::SyntheticConfig& config, Phase phase = Phase::training) {
  InputContext context{.phase = phase, .name = "input"};
  return {config, context};
}

std::vector<Image> images(Input& input) {
  const auto pixels = input.get_next().value().at("image").to_host<float>();
  std::vector<Image> found;
  for (auto at = pixels.begin(); at != pixels.end(); at += kSize) {
    found.emplace_back(at, at + kSize);
  }
  return found;
}

// Shifts up by `down` and left by `right`, pads with the normalized 0, then mirrors.
Image changed(const Image& image, std::int64_t down, std::int64_t right, bool flip) {
  Image out;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        const std::int64_t row = y + down, column = (flip ? kWidth - 1 - x : x) + right;
        const bool inside = row >= 0 && row < kHeight && column >= 0 && column < kWidth;
        const std::int64_t at = (row * kWidth + column) * kChannels + c;
        out.push_back(inside ? image[static_cast<std::size_t>(at)] : c == 0 ? -0.5F : -2.0F);
      }
    }
  }
  return out;
}

using Change = std::tuple<std::int64_t, std::int64_t, bool>;

// The change that made `got` from `image`, if any.
std::optional<Change> change_of(const Image& image, const Image& got, std::int64_t padding) {
  for (std::int64_t down = -padding; down <= padding; ++down) {
    for (std::int64_t right = -padding; right <= padding; ++right) {
      for (const bool flip : {false, true}) {
        if (changed(image, down, right, flip) == got) return Change{down, right, flip};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("augmented images are crops of the padded ones, half of them mirrored") {
  auto plain = made(plain_config()), augmented = made(augmented_config());
  const auto originals = images(plain);
  std::set<Change> seen;
  int flips = 0;
  for (int pass = 0; pass < 10; ++pass) {
    const auto got = images(augmented);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto change = change_of(originals[i], got[i], 1);
      REQUIRE(change.has_value());
      seen.insert(*change);
      flips += std::get<2>(*change) ? 1 : 0;
    }
  }
  CHECK(seen.size() == 18);                // nine crops, mirrored or not
  CHECK(flips == Approx(320).margin(64));  // of 640: five standard deviations of sqrt(640) / 2
}

TEST_CASE("crops and flips come alone, too") {
  auto plain = made(plain_config());
  const auto originals = images(plain);
  data::SyntheticConfig config = plain_config();
  config.augment.crop_padding = 3;
  auto cropping = made(config);
  config.augment = {.crop_padding = 0, .horizontal_flip = true};
  auto flipping = made(config);
  const auto cropped = images(cropping), flipped = images(flipping);
  std::set<Change> crops, flips;
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const auto crop = change_of(originals[i], cropped[i], 3);
    const auto flip = change_of(originals[i], flipped[i], 3);
    REQUIRE((crop && flip));
    crops.insert(*crop);
    flips.insert(*flip);
  }
  CHECK(crops.size() > 20);  // of 49, by 64 images
  for (const Change& crop : crops) CHECK_FALSE(std::get<2>(crop));
  CHECK(flips == std::set<Change>{{0, 0, false}, {0, 0, true}});
}

TEST_CASE("every epoch augments images differently, the same seed equally") {
  auto first = made(augmented_config()), second = made(augmented_config());
  const auto pass_0 = images(first), pass_1 = images(first);
  CHECK(pass_0 != pass_1);
  CHECK(images(second) == pass_0);
  CHECK(images(second) == pass_1);
  // The synthetic images depend on the seed, too; the augmentation seed is separate.
  data::SyntheticConfig other = augmented_config();
  other.seed = 1;
  auto plain_other = plain_config();
  plain_other.seed = 1;
  auto input = made(other), plain = made(plain_config()), plain_input = made(plain_other);
  const auto originals = images(plain), other_originals = images(plain_input);
  const auto got = images(input);
  int same = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto a = change_of(originals[i], pass_0[i], 1);
    const auto b = change_of(other_originals[i], got[i], 1);
    same += a == b ? 1 : 0;
  }
  CHECK(same < 20);  // of 64, by chance one in 18
}

TEST_CASE("each change alone depends on epoch, seed and example") {
  data::SyntheticConfig plain;
  plain.image_shape = {6, 6, 3};
  plain.num_classes = 3;
  plain.examples = plain.batch_size = 12;
  plain.noise = 0;  // so the seed changes no image, and those of a class are equal
  data::AugmentConfig crop, jitter, rand, policy, erasing;
  crop.random_resized_crop.emplace();
  jitter.color_jitter.brightness = 0.5;
  rand.rand_augment.emplace();
  policy.auto_augment = data::AutoAugmentConfig{.policy = data::AutoAugmentPolicy::cifar10};
  erasing.random_erasing = data::RandomErasingConfig{.probability = 1};
  const auto pixels = [](Input& input) {
    return input.get_next().value().at("image").to_host<float>();
  };
  for (const data::AugmentConfig& augment : {crop, jitter, rand, policy, erasing}) {
    data::SyntheticConfig config = plain;
    auto unchanged = made(config);
    config.augment = augment;
    auto input = made(config), same = made(config);
    config.seed = 1;
    auto other = made(config);
    const auto pass_0 = pixels(input), pass_1 = pixels(input);
    CHECK(pass_0 != pixels(unchanged));
    CHECK(pass_0 != pass_1);
    CHECK(pixels(other) != pass_0);
    CHECK(pixels(same) == pass_0);
    CHECK(pixels(same) == pass_1);
    // Examples 0, 3, 6 and 9 are of one class.
    std::set<std::vector<float>> of_one_class;
    for (std::ptrdiff_t i = 0; i < 12; i += 3) {
      of_one_class.emplace(pass_0.begin() + i * 108, pass_0.begin() + (i + 1) * 108);
    }
    CHECK(of_one_class.size() > 1);
  }
}

TEST_CASE("bytes of files are changed, then normalized") {
  const TempDir dir;
  data::AugmentConfig inverted;  // or not
  inverted.rand_augment = data::RandAugmentConfig{.num_layers = 1};
  inverted.rand_augment->exclude_ops = inverted.rand_augment->operations();
  std::erase(inverted.rand_augment->exclude_ops, data::ImageOperation::Invert);
  const auto check = [](Input& input) {
    const auto values = input.get_next().value().at("image").to_host<float>();
    // Image i has the values i and 100.
    int inversions = 0;
    for (std::size_t i = 0; i < values.size() / 2; ++i) {
      const auto number = static_cast<float>(i);
      const bool inversion = values[2 * i] != number;
      CHECK(values[2 * i] == (inversion ? 255 - number : number));
      CHECK(values[2 * i + 1] == (inversion ? 155.0F : 100.0F));
      inversions += inversion ? 1 : 0;
    }
    CHECK((inversions > 10 && inversions < 54));
  };
  std::string bytes;
  for (char i = 0; i < 64; ++i) bytes += {i, 'd'};
  data::IdxConfig idx_config;
  idx_config.images = dir.write("x.idx", idx({64, 1, 2}, bytes)).string();
  data::NpyConfig npy_config;
  npy_config.images = dir.write("x.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': "
                                             "(64, 1, 2), }",
                                             bytes))
                          .string();
  for (data::DatasetConfig* config : {static_cast<data::DatasetConfig*>(&idx_config),
                                      static_cast<data::DatasetConfig*>(&npy_config)}) {
    config->batch_size = 64;
    config->scale = 1;
    config->augment = inverted;
  }
  InputContext context{.phase = Phase::training, .name = "input"};
  data::IdxInput idx_input(idx_config, context);
  check(idx_input);
  data::NpyInput npy_input(npy_config, context);
  check(npy_input);
}

TEST_CASE("a restored input continues with the same augmentations") {
  data::SyntheticConfig config = augmented_config(8);
  config.shuffle = true;
  auto whole = made(config), restored = made(config);
  for (int i = 0; i < 11; ++i) images(whole);  // into the second pass
  restored.restore_state(whole.save_state());
  for (int i = 0; i < 6; ++i) CHECK(images(restored) == images(whole));
}

TEST_CASE("hosts that share the data change it as one host does") {
  data::SyntheticConfig config = augmented_config(4);
  config.num_infeed_hosts = 2;
  auto first = made(config);
  config.infeed_host_index = 1;
  auto second = made(config), one = made(augmented_config(8));
  for (int i = 0; i < 3; ++i) {
    auto both = images(first);
    const auto more = images(second);
    both.insert(both.end(), more.begin(), more.end());
    CHECK(both == images(one));
  }
}

TEST_CASE("evaluation leaves images as they are") {
  auto plain = made(plain_config(), Phase::evaluation),
       augmented = made(augmented_config(), Phase::evaluation);
  CHECK(images(augmented) == images(plain));
}

TEST_CASE("only images that are large enough are augmented") {
  const TempDir dir;
  write_file(dir.path() / "rows.npy",
             npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "\1\2\3\4\5\6"));
  data::NpyConfig rows;
  rows.images = (dir.path() / "rows.npy").string();
  rows.batch_size = 1;
  rows.augment.horizontal_flip = true;
  CHECK_THAT(complaint<data::NpyInput>(rows),
             Contains("augment needs images [height, width, channels], examples are [3]"));
  data::SyntheticConfig small = plain_config();
  small.augment.crop_padding = kWidth + 1;
  CHECK_THAT(complaint<data::SyntheticInput>(small),
             Contains("augment.crop_padding = 5 is larger than the images, [5, 4, 2]"));
}
