// SPDX-License-Identifier: Apache-2.0
// Operations on values, against the results of PIL 9.4 (ImageOps, ImageEnhance) for the same
// images: all values of a small one, and the hash of a larger one.
#include "data/augmentation/color_operations.h"

#include <functional>
#include <tuple>

#include <catch2/catch.hpp>

#include "plugins/data/sample_image.h"

namespace color_operations_test {

using namespace trivet;
using namespace trivet::test;

namespace {

using Operation = std::function<void(data::ImageBytes)>;
using Enhancement = void (*)(data::ImageBytes, float);
using Values = std::vector<std::uint8_t>;

const Values kSmall = {0,   83,  166, 41,  124, 207, 82,  165, 248, 123, 206, 33,
                       67,  150, 233, 137, 220, 47,  207, 34,  117, 21,  104, 187,
                       134, 217, 44,  233, 60,  143, 76,  159, 242, 175, 2,   85};

Values changed(SampleImage image, const Operation& operation) {
  operation(image);
  return image.values;
}

Values changed_small(const Operation& operation) {
  return changed({3, 4, 3, kSmall}, operation);
}

Values enhanced_small(Enhancement enhancement, float factor) {
  return changed_small([&](data::ImageBytes image) { enhancement(image, factor); });
}

std::uint64_t hash(std::int64_t channels, const Operation& operation) {
  return hash_of(changed(sample_image(40, 33, channels), operation));
}

std::uint64_t hash(std::int64_t channels, Enhancement enhancement, float factor) {
  return hash(channels, [&](data::ImageBytes image) { enhancement(image, factor); });
}

}  // namespace

TEST_CASE("the operations of ImageOps give the values of PIL") {
  CHECK(changed_small(data::auto_contrast) == Values{0,   94,  157, 44, 142, 206, 89,  190, 255,
                                                     134, 238, 0,   73, 173, 237, 149, 255, 16,
                                                     226, 37,  99,  22, 119, 182, 146, 251, 13,
                                                     254, 67,  130, 83, 183, 247, 191, 0,   61});
  CHECK(changed_small(data::invert) == Values{255, 172, 89,  214, 131, 48, 173, 90,  7,
                                              132, 49,  222, 188, 105, 22, 118, 35,  208,
                                              48,  221, 138, 234, 151, 68, 121, 38,  211,
                                              22,  195, 112, 179, 96,  13, 80,  253, 170});
  CHECK(changed_small([](auto image) { data::posterize(image, 3); }) ==
        Values{0,   64,  160, 32,  96,  192, 64,  160, 224, 96,  192, 32,
               64,  128, 224, 128, 192, 32,  192, 32,  96,  0,   96,  160,
               128, 192, 32,  224, 32,  128, 64,  128, 224, 160, 0,   64});
  CHECK(changed_small([](auto image) { data::solarize(image, 100); }) ==
        Values{0,  83, 89,  41, 131, 48, 82,  90, 7,  132, 49, 33,  67, 105, 22, 118, 35, 47,
               48, 34, 138, 21, 151, 68, 121, 38, 44, 22,  60, 112, 76, 96,  13, 80,  2,  85});
  // PIL's results for 40 x 33 pixels.
  REQUIRE(hash(3, [](auto) {}) == 17889095324711350209U);
  REQUIRE(hash(1, [](auto) {}) == 3285713048464833121U);
  CHECK(hash(3, data::auto_contrast) == 12832968674864727480U);
  CHECK(hash(1, data::auto_contrast) == 4335325779866544258U);
  CHECK(hash(3, data::equalize) == 9666762255594139514U);
  CHECK(hash(1, data::equalize) == 2970968448200702790U);
}

TEST_CASE("the enhancements give the values of PIL") {
  CHECK(enhanced_small(data::brightness, 0.1F) ==
        Values{0,  8, 16, 4, 12, 20, 8,  16, 24, 12, 20, 3,  6, 15, 23, 13, 22, 4,
               20, 3, 11, 2, 10, 18, 13, 21, 4,  23, 6,  14, 7, 15, 24, 17, 0,  8});
  CHECK(enhanced_small(data::brightness, 1.9F) ==
        Values{0,   157, 255, 77,  235, 255, 155, 255, 255, 233, 255, 62,
               127, 255, 255, 255, 255, 89,  255, 64,  222, 39,  197, 255,
               254, 255, 83,  255, 114, 255, 144, 255, 255, 255, 3,   161});
  CHECK(enhanced_small(data::contrast, 0.6F) == Values{49,  99,  149, 74, 124, 173, 98,  148, 198,
                                                       123, 173, 69,  89, 139, 189, 131, 181, 77,
                                                       173, 70,  119, 62, 112, 161, 130, 179, 76,
                                                       189, 85,  135, 95, 145, 194, 154, 50,  100});
  CHECK(enhanced_small(data::contrast, 1.9F) == Values{0,   46,  203, 0,  124, 255, 44,  201, 255,
                                                       122, 255, 0,   15, 173, 255, 148, 255, 0,
                                                       255, 0,   110, 0,  86,  243, 143, 255, 0,
                                                       255, 2,   160, 32, 190, 255, 220, 0,   49});
  CHECK(enhanced_small(data::color, 0.6F) == Values{27,  77,  126, 68,  118, 167, 109, 159, 208,
                                                    138, 188, 84,  94,  144, 193, 152, 202, 98,
                                                    162, 58,  108, 48,  98,  147, 149, 199, 95,
                                                    188, 84,  134, 103, 153, 202, 130, 26,  76});
  CHECK(enhanced_small(data::color, 1.9F) == Values{0,   96,  254, 0,  137, 255, 20,  178, 255,
                                                    88,  246, 0,   5,  163, 255, 102, 255, 0,
                                                    255, 0,   136, 0,  117, 255, 99,  255, 0,
                                                    255, 5,   162, 14, 172, 255, 255, 0,   104});
  CHECK(enhanced_small(data::sharpness, 0.1F) == Values{0,   83,  166, 41, 124, 207, 82,  165, 248,
                                                        123, 206, 33,  67, 150, 233, 119, 166, 118,
                                                        153, 87,  135, 21, 104, 187, 134, 217, 44,
                                                        233, 60,  143, 76, 159, 242, 175, 2,   85});
  CHECK(enhanced_small(data::sharpness, 1.9F) == Values{0,   83,  166, 41, 124, 207, 82,  165, 248,
                                                        123, 206, 33,  67, 150, 233, 155, 255, 0,
                                                        255, 0,   99,  21, 104, 187, 134, 217, 44,
                                                        233, 60,  143, 76, 159, 242, 175, 2,   85});
  for (const Enhancement enhancement :
       {data::brightness, data::contrast, data::color, data::sharpness}) {
    CHECK(enhanced_small(enhancement, 1) == kSmall);
  }
  // PIL's results for 40 x 33 pixels, with the factors 0.1, 0.7, 1.3 and 1.9.
  const std::vector<std::tuple<int, Enhancement, std::vector<std::uint64_t>>> expected = {
      {3,
       data::brightness,
       {7692237078786306231U, 16253404891903585519U, 18153342748527062520U, 2734481725091513982U}},
      {3,
       data::contrast,
       {1822416701860282195U, 9036852342684817085U, 9032249425236346074U, 8962735994619299157U}},
      {3,
       data::color,
       {6730466173148523432U, 8556510511051339799U, 17464311819676896655U, 18124044559396759940U}},
      {3,
       data::sharpness,
       {4598779994057780177U, 11275163302482220173U, 11272203242583156002U, 14895116051637129427U}},
      {1,
       data::brightness,
       {9260497499193096011U, 2157884033326342181U, 17777118810755857682U, 10271496242522922342U}},
      {1,
       data::contrast,
       {8331689809643844915U, 12472478017635160203U, 14915157623229883789U, 13442571834417289514U}},
      {1,
       data::color,
       {3285713048464833121U, 3285713048464833121U, 3285713048464833121U, 3285713048464833121U}},
      {1,
       data::sharpness,
       {3063463339410425162U, 18312474406934514266U, 9714390853491445963U, 12744390333226859984U}},
  };
  for (const auto& row : expected) {
    std::vector<std::uint64_t> got;
    for (const float factor : {0.1F, 0.7F, 1.3F, 1.9F}) {
      got.push_back(hash(std::get<0>(row), std::get<1>(row), factor));
    }
    CHECK(got == std::get<2>(row));
  }
}

TEST_CASE("equalization follows its formula") {
  // 255 pixels of 0, 255 of 10, 510 of 20 and 1 of 30: n is 1020 / 255 = 4, and 20 becomes (2 +
  // 510) / 4 = 128.
  SampleImage image{1021, 1, 1, {}};
  image.values.insert(image.values.end(), 255, 0);
  image.values.insert(image.values.end(), 255, 10);
  image.values.insert(image.values.end(), 510, 20);
  image.values.push_back(30);
  data::equalize(image);
  CHECK(image.values[0] == 0);
  CHECK(image.values[255] == 64);
  CHECK(image.values[510] == 128);
  CHECK(image.values[1020] == 255);
}

TEST_CASE("images of one value, and of few pixels, stay as they are") {
  const SampleImage flat{2, 2, 1, {7, 7, 7, 7}};
  CHECK(changed(flat, data::auto_contrast) == flat.values);
  CHECK(changed(flat, data::equalize) == flat.values);
  // Too few pixels for 255 levels.
  CHECK(changed_small(data::equalize) == kSmall);
  // All pixels are at the border.
  const SampleImage thin{2, 5, 1, {1, 200, 3, 4, 5, 6, 7, 8, 9, 10}};
  CHECK(changed(thin, [](auto image) { data::sharpness(image, 0); }) == thin.values);
  const SampleImage narrow{5, 1, 2, thin.values};
  CHECK(changed(narrow, [](auto image) { data::sharpness(image, 0); }) == thin.values);
}

TEST_CASE("posterizing keeps the upper bits, solarizing inverts from its threshold") {
  const SampleImage image{1, 4, 1, {0, 100, 128, 255}};
  CHECK(changed(image, [](auto i) { data::posterize(i, 1); }) == Values{0, 0, 128, 128});
  CHECK(changed(image, [](auto i) { data::posterize(i, 8); }) == image.values);
  CHECK(changed(image, [](auto i) { data::solarize(i, 128); }) == Values{0, 100, 127, 0});
  CHECK(changed(image, [](auto i) { data::solarize(i, 256); }) == image.values);
  CHECK(changed(image, [](auto i) { data::solarize(i, 0); }) == Values{255, 155, 127, 0});
  CHECK(changed(image, [](auto i) { data::solarize_add(i, 50); }) == Values{50, 150, 128, 255});
  CHECK(changed({1, 1, 1, {127}}, [](auto i) { data::solarize_add(i, 110); }) == Values{237});
}

}  // namespace color_operations_test
