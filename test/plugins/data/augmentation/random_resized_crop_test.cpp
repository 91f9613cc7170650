// SPDX-License-Identifier: Apache-2.0
// Random parts of images: areas, aspects and positions; the middle where none fits; center crops.
#include "data/augmentation/random_resized_crop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "trivet/config.h"

namespace random_resized_crop_test {

using namespace trivet;
using data::Crop;

namespace {

constexpr std::int64_t kHeight = 300, kWidth = 400;
constexpr double kArea = static_cast<double>(kHeight * kWidth);

Crop drawn(const data::RandomResizedCropConfig& config, std::uint64_t seed,
           std::int64_t height = kHeight, std::int64_t width = kWidth) {
  return data::random_resized_crop(config, data::Draws(RngKey(seed)), height, width);
}

std::string problem(const data::RandomResizedCropConfig& config) {
  Diagnostics diagnostics;
  config.validate(diagnostics);
  return diagnostics.empty() ? "" : diagnostics.list()[0].path;
}

void check_equal(const Crop& got, const Crop& want) {
  CHECK(got.top == want.top);
  CHECK(got.left == want.left);
  CHECK(got.height == want.height);
  CHECK(got.width == want.width);
}

}  // namespace

TEST_CASE("parts of an image are inside, and their areas and aspects fill the ranges") {
  const data::RandomResizedCropConfig config;
  double least_area = 1, largest_area = 0, mean_area = 0, least_aspect = 9, largest_aspect = 0;
  std::int64_t least_top = kHeight, largest_bottom = 0, least_left = kWidth, largest_right = 0;
  constexpr int kCount = 2000;
  for (std::uint64_t seed = 0; seed < kCount; ++seed) {
    const Crop crop = drawn(config, seed);
    REQUIRE(crop.top >= 0);
    REQUIRE(crop.left >= 0);
    REQUIRE(crop.top + crop.height <= kHeight);
    REQUIRE(crop.left + crop.width <= kWidth);
    const double area = static_cast<double>(crop.height * crop.width) / kArea;
    const double aspect = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    least_area = std::min(least_area, area), largest_area = std::max(largest_area, area);
    mean_area += area / kCount;
    least_aspect = std::min(least_aspect, aspect);
    largest_aspect = std::max(largest_aspect, aspect);
    least_top = std::min(least_top, crop.top);
    least_left = std::min(least_left, crop.left);
    largest_bottom = std::max(largest_bottom, crop.top + crop.height);
    largest_right = std::max(largest_right, crop.left + crop.width);
  }
  // Rounding to pixels changes the smallest sides, of about 85, by half a pixel.
  CHECK(least_area >= 0.08 * 0.99);
  CHECK(least_area <= 0.09);
  CHECK(largest_area >= 0.9);
  // Uniform in [0.08, 1] is 0.54; large parts of aspect 3/4 do not fit and are drawn again.
  CHECK(mean_area > 0.42);
  CHECK(mean_area < 0.56);
  CHECK(least_aspect >= 0.75 * 0.98);
  CHECK(least_aspect <= 0.77);
  CHECK(largest_aspect <= 4.0 / 3 * 1.02);
  CHECK(largest_aspect >= 1.3);
  CHECK(least_top == 0);
  CHECK(least_left == 0);
  CHECK(largest_bottom == kHeight);
  CHECK(largest_right == kWidth);
}

TEST_CASE("the part of one area and aspect has the sides of the formula") {
  // By hand: 30,000 pixels of aspect 4/3 are 200 x 150; sqrt(30000 * 4 / 3), sqrt(30000 * 3 / 4).
  const data::RandomResizedCropConfig config{
      .min_area = 0.25, .max_area = 0.25, .min_aspect = 4.0 / 3, .max_aspect = 4.0 / 3};
  const Crop crop = drawn(config, 7);
  CHECK(crop.height == 150);
  CHECK(crop.width == 200);
  // The draws are a function of the key.
  check_equal(drawn(config, 7), crop);
  CHECK((drawn(config, 8).top != crop.top || drawn(config, 8).left != crop.left));
}

TEST_CASE("where no part fits, it is the largest one in the middle") {
  // A part of the whole area and aspect 1 fits into no image that is not square.
  const data::RandomResizedCropConfig whole{
      .min_area = 1, .max_area = 1, .min_aspect = 0.75, .max_aspect = 1.25};
  check_equal(drawn(whole, 1, 10, 40), {0, 14, 10, 13});  // 12.5 columns, rounded up
  check_equal(drawn(whole, 1, 40, 10), {14, 0, 13, 10});  // 10 / 0.75 rows
  check_equal(drawn(whole, 1, 1, 1), {0, 0, 1, 1});
  check_equal(drawn(whole, 1, 1, 100), {0, 50, 1, 1});
}

TEST_CASE("a center crop is a square of the shorter side's share") {
  check_equal(data::center_crop(0.875, 256, 300), {16, 38, 224, 224});
  check_equal(data::center_crop(1, 5, 4), {1, 0, 4, 4});
  check_equal(data::center_crop(0.875, 9, 20), {1, 7, 7, 7});  // 7.875, rounded down
  check_equal(data::center_crop(0.01, 3, 3), {1, 1, 1, 1});
}

TEST_CASE("ranges of parts rise") {
  CHECK(problem({}).empty());
  CHECK(problem({.min_area = 0.5, .max_area = 0.4}) == "min_area");
  CHECK(problem({.min_aspect = 2, .max_aspect = 1}) == "min_aspect");
}

}  // namespace random_resized_crop_test
