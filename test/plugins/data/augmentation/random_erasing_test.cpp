// SPDX-License-Identifier: Apache-2.0
// Rectangles that become noise: how many images, which areas, aspects and positions, and what they
// are filled with.
#include "data/augmentation/random_erasing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

namespace random_erasing_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr std::int64_t kHeight = 40, kWidth = 50, kChannels = 2;
constexpr float kPlain = 100;

struct Rectangle {
  std::int64_t top = kHeight, left = kWidth, bottom = 0, right = 0, pixels = 0;
  std::int64_t height() const { return bottom - top; }
  std::int64_t width() const { return right - left; }
};

std::vector<float> erased(const data::RandomErasingConfig& config, std::uint64_t seed) {
  std::vector<float> image(kHeight * kWidth * kChannels, kPlain);
  data::RandomErasing(config, kHeight, kWidth, kChannels).apply(data::Draws(RngKey(seed)), image);
  return image;
}

// Around all pixels that changed.
Rectangle changed(const std::vector<float>& image) {
  Rectangle found;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      const auto at = static_cast<std::size_t>((y * kWidth + x) * kChannels);
      CHECK((image[at] == kPlain) == (image[at + 1] == kPlain));
      if (image[at] == kPlain) continue;
      ++found.pixels;
      found.top = std::min(found.top, y), found.bottom = std::max(found.bottom, y + 1);
      found.left = std::min(found.left, x), found.right = std::max(found.right, x + 1);
    }
  }
  return found;
}

std::string problem(const data::RandomErasingConfig& config) {
  Diagnostics diagnostics;
  config.validate(diagnostics);
  return diagnostics.empty() ? "" : diagnostics.list()[0].path + " " + diagnostics.list()[0].what;
}

}  // namespace

TEST_CASE("a rectangle has an area and an aspect of the ranges, anywhere in the image") {
  data::RandomErasingConfig config;
  config.probability = 1;
  std::array<int, 4> areas{};
  int tall = 0, upper = 0, left = 0;
  constexpr int kDraws = 1000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const Rectangle found = changed(erased(config, seed));
    REQUIRE(found.pixels > 0);
    REQUIRE(found.pixels == found.height() * found.width());
    // Sides are rounded by at most 1/2.
    const auto height = static_cast<double>(found.height()),
               width = static_cast<double>(found.width());
    const double least = (height - 0.5) * (width - 0.5), most = (height + 0.5) * (width + 0.5);
    constexpr double kAll = kHeight * kWidth;
    CHECK(most >= 0.02 * kAll);
    CHECK(least <= kAll / 3);
    CHECK((height + 0.5) / (width - 0.5) >= 0.3);
    CHECK((height - 0.5) / (width + 0.5) <= 1 / 0.3);
    const double quarter = (height * width / kAll - 0.02) / (1.0 / 3 - 0.02) * 4;
    ++areas[static_cast<std::size_t>(std::clamp(quarter, 0.0, 3.0))];
    tall += height > width ? 1 : 0;
    upper += found.top + found.bottom < kHeight ? 1 : 0;
    left += found.left + found.right < kWidth ? 1 : 0;
  }
  // Large rectangles of extreme aspects do not fit and are drawn again, so the areas are not quite
  // uniform.
  for (const int count : areas) CHECK(count == Approx(kDraws / 4.0).margin(60));
  CHECK(tall == Approx(kDraws / 2.0).margin(120));
  CHECK(upper == Approx(kDraws / 2.0).margin(70));
  CHECK(left == Approx(kDraws / 2.0).margin(70));
}

TEST_CASE("noise is normal, zero is 0 in normalized units") {
  data::RandomErasingConfig config;
  config.probability = 1;
  config.min_area = config.max_area = 0.3;
  double sum = 0, squares = 0, count = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const float value : erased(config, seed)) {
      if (value == kPlain) continue;
      sum += static_cast<double>(value);
      squares += static_cast<double>(value * value);
      ++count;
    }
  }
  CHECK(sum / count == Approx(0).margin(0.02));
  CHECK(squares / count == Approx(1).margin(0.03));
  // Rows differ.
  const auto image = erased(config, 3);
  const Rectangle found = changed(image);
  const auto at = [&](std::int64_t y) {
    return image[static_cast<std::size_t>((y * kWidth + found.left) * kChannels)];
  };
  CHECK(at(found.top) != at(found.top + 1));
  config.fill = data::ErasingFill::zero;
  const auto zeros = erased(config, 3);
  CHECK(std::ranges::all_of(zeros, [](float v) { return v == 0 || v == kPlain; }));
  CHECK(changed(zeros).pixels == found.pixels);
}

TEST_CASE("probability and count say how many rectangles there are") {
  data::RandomErasingConfig config;
  int images = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    images += changed(erased(config, seed)).pixels > 0 ? 1 : 0;
  }
  CHECK(images == Approx(1000).margin(140));  // five standard deviations
  config.probability = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) CHECK(changed(erased(config, seed)).pixels == 0);
  // One pixel each, so the number of pixels is that of rectangles, but for those that meet.
  config = {.probability = 1, .min_area = 1e-6, .max_area = 1e-6, .min_count = 2, .max_count = 4};
  std::array<int, 5> counts{};
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    ++counts.at(static_cast<std::size_t>(changed(erased(config, seed)).pixels));
  }
  CHECK(counts[0] + counts[1] <= 1);
  for (std::size_t n = 2; n <= 4; ++n) CHECK(counts[n] == Approx(200).margin(60));
}

TEST_CASE("a rectangle that fits no image erases nothing") {
  data::RandomErasingConfig config{.probability = 1, .min_area = 1, .max_area = 1};
  config.min_aspect = config.max_aspect.emplace(3);
  CHECK(changed(erased(config, 1)).pixels == 0);
  // The whole image, if it has the aspect.
  config.min_aspect = config.max_aspect.emplace(static_cast<double>(kHeight) / kWidth);
  CHECK(changed(erased(config, 1)).pixels == kHeight * kWidth);
}

TEST_CASE("ranges that are empty are errors") {
  CHECK(problem({}).empty());
  CHECK(problem({.min_area = 0.5}) == "min_area is larger than max_area");
  CHECK(problem({.min_aspect = 2}) ==
        "min_aspect is larger than max_aspect, which is 1 / min_aspect");
  CHECK(problem({.min_aspect = 2, .max_aspect = 3}).empty());
  CHECK(problem({.min_aspect = 2, .max_aspect = 1.5}) == "min_aspect is larger than max_aspect");
  CHECK(problem({.min_count = 3, .max_count = 2}) == "min_count is larger than max_count");
}

TEST_CASE("inputs erase images of any numbers after they are normalized") {
  const TempDir dir;
  data::NpyConfig config;
  config.batch_size = 4;
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8, 8), }";
  config.images = dir.write("x.npy", npy(dict, std::string(4 * 8 * 8 * 4, '\0'))).string();
  config.mean = {5};
  config.augment.random_erasing = data::RandomErasingConfig{.probability = 1};
  config.augment.random_erasing->fill = data::ErasingFill::zero;
  const auto read = [&](Phase phase) {
    InputContext context{.phase = phase, .name = "input"};
    return data::NpyInput(config, context).get_next()->at("image").to_host<float>();
  };
  const auto images = read(Phase::training);
  CHECK(std::ranges::count(images, 0.0F) >= 4);
  CHECK(std::ranges::count(images, 0.0F) + std::ranges::count(images, -5.0F) == 256);
  CHECK(std::ranges::count(read(Phase::evaluation), -5.0F) == 256);
}

}  // namespace random_erasing_test
