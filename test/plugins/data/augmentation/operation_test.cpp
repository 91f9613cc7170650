// SPDX-License-Identifier: Apache-2.0
// Names and magnitudes of operations: the scale of each, and both ways of those that have two.
#include "data/augmentation/operation.h"

#include <algorithm>
#include <functional>
#include <set>

#include <catch2/catch.hpp>

#include "data/augmentation/color_operations.h"
#include "data/augmentation/geometric_operations.h"
#include "plugins/data/sample_image.h"
#include "trivet/config/enums.h"

namespace operation_test {

using namespace trivet;
using namespace trivet::test;
using data::ImageOperation;

namespace {

using Values = std::vector<std::uint8_t>;

const SampleImage kImage = sample_image(56, 112, 3);

Values applied(ImageOperation operation, double magnitude, std::uint64_t seed = 0) {
  SampleImage image = kImage;
  data::Draws draws{RngKey(seed)};
  const data::OperationReach reach(std::nullopt, std::nullopt, image.height, image.width);
  data::apply_operation(operation, magnitude, reach, draws, image);
  return image.values;
}

Values changed(const std::function<void(data::ImageBytes)>& change) {
  SampleImage image = kImage;
  change(image);
  return image.values;
}

// The results of many draws.
std::set<Values> all(ImageOperation operation, double magnitude) {
  std::set<Values> results;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    results.insert(applied(operation, magnitude, seed));
  }
  return results;
}

std::set<Values> both(const std::function<void(data::ImageBytes, double)>& change, double value) {
  return {changed([&](auto image) { change(image, value); }),
          changed([&](auto image) { change(image, -value); })};
}

}  // namespace

TEST_CASE("magnitudes have the scales of Model Garden") {
  using enum ImageOperation;
  CHECK(applied(AutoContrast, 7) == changed(data::auto_contrast));
  CHECK(applied(Equalize, 7) == changed(data::equalize));
  CHECK(applied(Invert, 7) == changed(data::invert));
  CHECK(applied(Posterize, 10) == changed([](auto image) { data::posterize(image, 4); }));
  CHECK(applied(Posterize, 7.4) == changed([](auto image) { data::posterize(image, 2); }));
  CHECK(applied(Posterize, 0) == changed([](auto image) { data::posterize(image, 1); }));
  CHECK(applied(Solarize, 5) == changed([](auto image) { data::solarize(image, 128); }));
  CHECK(applied(Solarize, 6.99) == changed([](auto image) { data::solarize(image, 178); }));
  CHECK(applied(Solarize, 10) == kImage.values);
  CHECK(applied(Solarize, 0) == changed(data::invert));
  CHECK(applied(SolarizeAdd, 10) == changed([](auto image) { data::solarize_add(image, 110); }));
  CHECK(applied(SolarizeAdd, 0) == kImage.values);
  CHECK(applied(Color, 10) == changed([](auto image) { data::color(image, 1.9F); }));
  CHECK(applied(Contrast, 0) == changed([](auto image) { data::contrast(image, 0.1F); }));
  CHECK(applied(Brightness, 5) == kImage.values);
  CHECK(applied(Sharpness, 10) == changed([](auto image) { data::sharpness(image, 1.9F); }));
}

TEST_CASE("what moves an image moves it either way") {
  using enum ImageOperation;
  CHECK(all(Rotate, 10) == both(data::rotate, 30));
  CHECK(all(Rotate, 3) == both(data::rotate, 9));
  CHECK(all(ShearX, 10) == both(data::shear_x, 0.3));
  CHECK(all(ShearY, 5) == both(data::shear_y, 0.15));
  // 100 of 224 pixels in proportion to 112 columns and 56 rows.
  CHECK(all(TranslateX, 10) ==
        both([](auto image, double n) { data::translate_x(image, static_cast<std::int64_t>(n)); },
             50));
  CHECK(all(TranslateY, 4) ==
        both([](auto image, double n) { data::translate_y(image, static_cast<std::int64_t>(n)); },
             10));
  for (const ImageOperation operation : {Rotate, ShearX, ShearY, TranslateX, TranslateY, Cutout}) {
    CHECK(all(operation, 0) == std::set<Values>{kImage.values});
  }
  int one_way = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    one_way +=
        applied(TranslateX, 1, seed) == changed([](auto image) { data::translate_x(image, 5); })
            ? 1
            : 0;
  }
  CHECK(one_way == Approx(200).margin(50));  // five standard deviations
}

TEST_CASE("a cutout is about any pixel of the image") {
  // Half of the side: 40 of 224 for the shorter side of 56, which is 10.
  std::set<std::int64_t> rows, columns;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Values values = applied(ImageOperation::Cutout, 10, seed);
    std::int64_t top = 56, bottom = 0, left = 112, right = 0;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      if (values[static_cast<std::size_t>(i)] == kImage.values[static_cast<std::size_t>(i)]) {
        continue;
      }
      REQUIRE(values[static_cast<std::size_t>(i)] == data::kFill);
      const std::int64_t row = i / 336, column = i % 336 / 3;
      top = std::min(top, row), bottom = std::max(bottom, row + 1);
      left = std::min(left, column), right = std::max(right, column + 1);
    }
    CHECK(bottom - top <= 20);
    CHECK(right - left <= 20);
    CHECK((bottom - top == 20 || top == 0 || bottom == 56));
    CHECK((right - left == 20 || left == 0 || right == 112));
    rows.insert(top), columns.insert(left);
  }
  CHECK(rows.size() > 35);     // of 47
  CHECK(columns.size() > 70);  // of 103
}

TEST_CASE("some operations have no magnitude, some need the gray of pixels") {
  int magnitudes = 0, grays = 0;
  for (const std::string_view name : enum_names<ImageOperation>()) {
    const ImageOperation operation = *enum_from_name<ImageOperation>(name);
    INFO(name);
    magnitudes += data::uses_magnitude(operation) ? 1 : 0;
    grays += data::needs_gray(operation) ? 1 : 0;
    if (!data::uses_magnitude(operation)) CHECK(applied(operation, 0) == applied(operation, 10));
    if (data::needs_gray(operation)) continue;
    // The others work on any number of channels, and of pixels.
    for (const std::int64_t channels : {1, 2, 3, 5}) {
      for (const std::int64_t side : {1, 2, 7}) {
        SampleImage image = sample_image(side, 3, channels);
        data::Draws draws{RngKey(1)};
        const data::OperationReach reach(std::nullopt, std::nullopt, side, 3);
        data::apply_operation(operation, 10, reach, draws, image);
        CHECK(std::ssize(image.values) == side * 3 * channels);
      }
    }
  }
  CHECK(magnitudes == 13);
  CHECK(grays == 2);
}

}  // namespace operation_test
