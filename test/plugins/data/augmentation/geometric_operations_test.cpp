// SPDX-License-Identifier: Apache-2.0
// Operations that move pixels, against PIL 9.4's Image.rotate and Image.transform (AFFINE, NEAREST)
// with the fill color 128.
#include "data/augmentation/geometric_operations.h"

#include <functional>

#include <catch2/catch.hpp>

#include "plugins/data/sample_image.h"

namespace geometric_operations_test {

using namespace trivet;
using namespace trivet::test;

namespace {

using Operation = std::function<void(data::ImageBytes)>;
using Values = std::vector<std::uint8_t>;

Values changed(SampleImage image, const Operation& operation) {
  operation(image);
  return image.values;
}

// 1 to 15 in 3 rows of 5.
Values changed_rows(const Operation& operation) {
  return changed({3, 5, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, operation);
}

// Of 40 x 33 pixels with three channels, and with one.
std::vector<std::uint64_t> hashes(const Operation& operation) {
  return {hash_of(changed(sample_image(40, 33, 3), operation)),
          hash_of(changed(sample_image(40, 33, 1), operation))};
}

using Hashes = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("rotations are counterclockwise about the center of the image") {
  CHECK(changed({3, 3, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, [](auto i) { data::rotate(i, 90); }) ==
        Values{3, 6, 9, 2, 5, 8, 1, 4, 7});
  CHECK(changed_rows([](auto i) { data::rotate(i, 90); }) ==
        Values{128, 4, 9, 14, 128, 128, 3, 8, 13, 128, 128, 2, 7, 12, 128});
  CHECK(changed_rows([](auto i) { data::rotate(i, 180); }) ==
        Values{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(hashes([](auto i) { data::rotate(i, 30); }) ==
        Hashes{13617909694816999085U, 17310444220498529917U});
  CHECK(hashes([](auto i) { data::rotate(i, -17); }) ==
        Hashes{17730386469371103245U, 7024810318869062133U});
}

TEST_CASE("shears keep the upper or the left edge") {
  CHECK(changed_rows([](auto i) { data::shear_x(i, 0.6); }) ==
        Values{1, 2, 3, 4, 5, 7, 8, 9, 10, 128, 13, 14, 15, 128, 128});
  CHECK(changed_rows([](auto i) { data::shear_x(i, -0.5); }) ==
        Values{1, 2, 3, 4, 5, 128, 6, 7, 8, 9, 128, 11, 12, 13, 14});
  CHECK(changed_rows([](auto i) { data::shear_y(i, 0.4); }) ==
        Values{1, 7, 8, 9, 15, 6, 12, 13, 14, 128, 11, 128, 128, 128, 128});
  CHECK(hashes([](auto i) { data::shear_x(i, 0.3); }) ==
        Hashes{11688770672215373503U, 2928523823231660699U});
  CHECK(hashes([](auto i) { data::shear_y(i, -0.21); }) ==
        Hashes{17547823980584998030U, 8251590110266604087U});
}

TEST_CASE("translations fill what comes from outside") {
  CHECK(changed_rows([](auto i) { data::translate_x(i, 2); }) ==
        Values{3, 4, 5, 128, 128, 8, 9, 10, 128, 128, 13, 14, 15, 128, 128});
  CHECK(changed_rows([](auto i) { data::translate_y(i, -1); }) ==
        Values{128, 128, 128, 128, 128, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(hashes([](auto i) { data::translate_x(i, 7); }) ==
        Hashes{11479210285827423971U, 3392155348780171743U});
  CHECK(hashes([](auto i) { data::translate_y(i, -5); }) ==
        Hashes{11600785894093261157U, 1331775911411953180U});
  // Further than the image is wide.
  CHECK(changed_rows([](auto i) { data::translate_x(i, 65536); }) == Values(15, 128));
  CHECK(changed_rows([](auto i) { data::translate_y(i, -3); }) == Values(15, 128));
}

TEST_CASE("a cutout is clipped at the border") {
  CHECK(changed_rows([](auto i) { data::cutout(i, 1, 2, 1); }) ==
        Values{1, 128, 128, 4, 5, 6, 128, 128, 9, 10, 11, 12, 13, 14, 15});
  CHECK(changed_rows([](auto i) { data::cutout(i, 2, 4, 2); }) ==
        Values{1, 2, 128, 128, 128, 6, 7, 128, 128, 128, 11, 12, 128, 128, 128});
  CHECK(changed_rows([](auto i) { data::cutout(i, 0, 0, 9); }) == Values(15, 128));
  CHECK(changed_rows([](auto i) { data::cutout(i, 1, 1, 0); }) == changed_rows([](auto) {}));
  // All channels of a pixel.
  CHECK(changed({1, 3, 2, {1, 2, 3, 4, 5, 6}}, [](auto i) { data::cutout(i, 0, 2, 1); }) ==
        Values{1, 2, 128, 128, 128, 128});
}

TEST_CASE("pixels of any number of channels move together") {
  const SampleImage plain = sample_image(9, 11, 4);
  const Values moved = changed(plain, [](auto i) { data::rotate(i, 20); });
  for (std::int64_t c = 0; c < 4; ++c) {
    SampleImage one{9, 11, 1, {}};
    for (std::size_t i = static_cast<std::size_t>(c); i < plain.values.size(); i += 4) {
      one.values.push_back(plain.values[i]);
    }
    const Values expected = changed(one, [](auto i) { data::rotate(i, 20); });
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(moved[4 * i + static_cast<std::size_t>(c)] == expected[i]);
    }
  }
}

}  // namespace geometric_operations_test
