// SPDX-License-Identifier: Apache-2.0
// Random brightness, contrast and saturation: factors from their ranges, and inputs that use them.
#include "data/augmentation/color_jitter.h"

#include <algorithm>
#include <array>
#include <set>

#include <catch2/catch.hpp>

#include "data/augmentation/color_operations.h"
#include "plugins/data/files.h"
#include "plugins/data/sample_image.h"

namespace color_jitter_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

data::SyntheticConfig config_of(std::vector<std::int64_t> shape,
                                const data::ColorJitterConfig& jitter) {
  data::SyntheticConfig config;
  config.image_shape = std::move(shape);
  config.num_classes = 3;
  config.examples = 32;
  config.batch_size = 32;
  config.augment.color_jitter = jitter;
  return config;
}

std::vector<float> images(const data::SyntheticConfig& config, Phase phase = Phase::training) {
  InputContext context{.phase = phase, .name = "input"};
  return data::SyntheticInput(config, context).get_next()->at("image").to_host<float>();
}

}  // namespace

TEST_CASE("brightness has a uniform factor from its range") {
  for (const double reach : {0.4, 3.0}) {
    const data::ColorJitter jitter({.brightness = reach});
    const double low = std::max(0.0, 1 - reach), high = 1 + reach;
    std::array<int, 8> counts{};
    constexpr int kDraws = 8000;
    for (int i = 0; i < kDraws; ++i) {
      // The factor is found to 1/255 in the largest value, or 1/50 where that would be cut off.
      SampleImage image{1, 1, 1, {static_cast<std::uint8_t>(reach < 1 ? 180 : 60)}};
      const double before = image.values[0];
      jitter.apply(data::Draws(RngKey(static_cast<std::uint64_t>(i))), image);
      const double factor = (image.values[0] + 0.5) / before;
      REQUIRE(factor > low - 0.01);
      REQUIRE(factor < high + 0.02);
      ++counts[std::min<std::size_t>(static_cast<std::size_t>((factor - low) / (high - low) * 8),
                                     7)];
    }
    // Chi-square of 7 degrees of freedom, with some room for the rounding of values.
    double chi_square = 0;
    for (const int count : counts) {
      chi_square += (count - kDraws / 8.0) * (count - kDraws / 8.0) / (kDraws / 8.0);
    }
    CAPTURE(reach, counts);
    CHECK(chi_square < 60);
  }
}

TEST_CASE("each change is applied alone, and all of them in their order") {
  const SampleImage plain = sample_image(6, 5, 3);
  const auto jittered = [&](const data::ColorJitterConfig& config) {
    SampleImage image = plain;
    data::ColorJitter(config).apply(data::Draws(RngKey(5)), image);
    return image.values;
  };
  data::Draws draws(RngKey(5));
  const auto factor = [&] { return static_cast<float>(draws.uniform(0.6, 1.4)); };
  const float bright = factor(), contrast = factor(), saturation = factor();
  SampleImage image = plain;
  data::contrast(image, contrast);
  CHECK(jittered({.contrast = 0.4}) == image.values);
  image = plain;
  data::color(image, saturation);
  CHECK(jittered({.saturation = 0.4}) == image.values);
  image = plain;
  data::brightness(image, bright);
  CHECK(jittered({.brightness = 0.4}) == image.values);
  data::contrast(image, contrast);
  data::color(image, saturation);
  CHECK(jittered({.brightness = 0.4, .contrast = 0.4, .saturation = 0.4}) == image.values);
}

TEST_CASE("an input changes the bytes of its images, then normalizes them") {
  data::SyntheticConfig config = config_of({4, 4, 3}, {.brightness = 0.5});
  config.mean = {0.5};
  config.std = {0.25};
  const auto changed = images(config);
  CHECK(images(config) == changed);
  CHECK(images(config, Phase::evaluation) != changed);
  config.augment.color_jitter = {};
  const auto plain = images(config);
  REQUIRE(plain != changed);
  const auto byte_of = [](float normalized) { return (normalized * 0.25F + 0.5F) * 255; };
  std::set<int> factors;
  for (std::size_t i = 0; i < 32; ++i) {
    // All values of an image have one factor, but for the cut to integers and the limit of 255.
    double low = 0, high = 2;
    for (std::size_t p = i * 48; p < (i + 1) * 48; ++p) {
      const auto before = static_cast<double>(byte_of(plain[p])),
                 after = static_cast<double>(byte_of(changed[p]));
      CHECK(after == Approx(std::round(after)).margin(1e-3));
      if (before < 1) continue;
      low = std::max(low, (after - 0.01) / before);
      if (after < 254.5) high = std::min(high, (after + 1.01) / before);
    }
    CHECK(low <= high);
    factors.insert(static_cast<int>(low * 100));
  }
  CHECK(factors.size() > 10);
}

TEST_CASE("images that a change does not fit are refused") {
  CHECK_THAT(complaint<data::SyntheticInput>(config_of({4, 4, 1}, {.saturation = 0.5})),
             Contains("augment.color_jitter.saturation has no effect on images of one channel") &&
                 Contains("[4, 4, 1]"));
  CHECK_THAT(complaint<data::SyntheticInput>(config_of({4, 4, 2}, {.contrast = 0.5})),
             Contains("need images of 1 or 3 channels, examples are [4, 4, 2]"));
  CHECK(complaint<data::SyntheticInput>(config_of({4, 4, 2}, {.brightness = 0.5})).empty());
  CHECK(complaint<data::SyntheticInput>(config_of({4, 4, 1}, {.contrast = 0.5})).empty());

  const TempDir dir;
  data::NpyConfig numbers;
  numbers.batch_size = 1;
  numbers.augment.color_jitter.brightness = 0.5;
  const auto file = [&](const std::string& type, const std::string& shape, std::size_t bytes) {
    const std::string dict =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    numbers.images = dir.write("x.npy", npy(dict, std::string(bytes, '\1'))).string();
  };
  file("<f4", "(2, 2, 2)", 32);
  CHECK_THAT(complaint<data::NpyInput>(numbers),
             Contains("augment.color_jitter changes images of bytes, and these have other "
                      "numbers") &&
                 Contains("store the images as bytes"));
  file("|u1", "(2, 2, 2)", 8);
  CHECK(complaint<data::NpyInput>(numbers).empty());
  file("|u1", "(2, 3)", 6);
  CHECK_THAT(complaint<data::NpyInput>(numbers),
             Contains("augment needs images [height, width, channels], examples are [3]"));
}

}  // namespace color_jitter_test
