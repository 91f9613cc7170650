// SPDX-License-Identifier: Apache-2.0
// Integers and scales by hand, back as numbers, and files that do not fit.
#include "trivet/data/quantized_weights.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace quantized_weights_test {
namespace {

using Catch::Contains;
using trivet::DequantizedEntries;
using trivet::DType;
using trivet::quantize_weights;
using trivet::QuantizedWeights;
using trivet::SafetensorsEntry;
using trivet::ScaleAxis;
using trivet::Shape;

std::vector<int> bytes_of(const QuantizedWeights& weights) {
  std::vector<int> all;
  for (const std::byte byte : weights.integers) {
    all.push_back(weights.dtype == DType::i8 ? static_cast<std::int8_t>(byte)
                                             : static_cast<std::uint8_t>(byte));
  }
  return all;
}

// The two entries "w" and its scales.
std::vector<SafetensorsEntry> entries_of(const QuantizedWeights& weights) {
  return {{"w", weights.dtype, weights.shape, weights.integers},
          {"w_quantized_scale", DType::f32, weights.scale_shape,
           std::as_bytes(std::span(weights.scales))}};
}

std::vector<float> numbers_of(const SafetensorsEntry& entry) {
  std::vector<float> numbers(static_cast<std::size_t>(entry.shape.size()));
  std::copy(entry.data.begin(), entry.data.end(),
            std::as_writable_bytes(std::span(numbers)).begin());
  return numbers;
}

const std::vector<float> kWeights = {1, -0.3F, 0, 0.25F, 2, 0};  // [2, 3]

}  // namespace

TEST_CASE("weights as integers by hand") {
  const Shape shape{2, 3};
  const auto columns = quantize_weights(kWeights, shape, 8, ScaleAxis::columns);
  CHECK(bytes_of(columns) == std::vector<int>{127, -19, 0, 32, 127, 0});
  CHECK(columns.scale_shape == Shape{3});
  CHECK(columns.scales == std::vector<float>{1 * (1 / 127.0F), 2 * (1 / 127.0F), 1 / 127.0F});
  const auto rows = quantize_weights(kWeights, shape, 8, ScaleAxis::rows);
  CHECK(bytes_of(rows) == std::vector<int>{127, -38, 0, 16, 127, 0});
  CHECK(rows.scale_shape == Shape{2, 1});

  // 7, -1, 0 and 2, 7, 0: two in a byte, the low four bits first.
  const auto packed = quantize_weights(kWeights, shape, 4, ScaleAxis::columns);
  CHECK(packed.dtype == DType::u8);
  CHECK(packed.shape == Shape{2, 2});
  CHECK(bytes_of(packed) == std::vector<int>{0xf7, 0, 0x72, 0});
  // 7, -2, 0 and 1, 7, 0: the two rows are in a byte.
  const auto packed_rows = quantize_weights(kWeights, shape, 4, ScaleAxis::rows);
  CHECK(packed_rows.shape == Shape{1, 3});
  CHECK(bytes_of(packed_rows) == std::vector<int>{0x17, 0x7e, 0});
}

TEST_CASE("integers times scales are the nearest numbers to the weights") {
  const int bits = GENERATE(8, 4);
  const ScaleAxis axis = GENERATE(ScaleAxis::columns, ScaleAxis::rows);
  const Shape shape = GENERATE(Shape{5, 7}, Shape{4, 6}, Shape{3, 2, 5});
  const std::vector<float> w = trivet::test::random_values(shape.size(), 3);
  const QuantizedWeights weights = quantize_weights(w, shape, bits, axis);
  const auto entries = entries_of(weights);
  const DequantizedEntries plain(entries, "file");
  REQUIRE(plain.entries().size() == 1);
  CHECK(plain.quantized() == 1);
  const SafetensorsEntry& entry = plain.entries()[0];
  CHECK(entry.name == "w");
  CHECK(entry.dtype == DType::f32);
  CHECK(entry.shape == shape);
  const std::vector<float> values = numbers_of(entry);
  const std::int64_t columns = shape[shape.rank() - 1], rows = shape[0];
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float scale = weights.scales[static_cast<std::size_t>(
        axis == ScaleAxis::columns ? i % columns : i / (shape.size() / rows))];
    CHECK(std::fabs(values[at] - w[at]) <= scale * 0.5001F);
    CHECK(values[at] == scale * std::nearbyint(values[at] / scale));
  }
}

TEST_CASE("entries that are not quantized stay, in their order") {
  const auto weights = quantize_weights(kWeights, {2, 3}, 8, ScaleAxis::columns);
  std::vector<SafetensorsEntry> entries = entries_of(weights);
  const std::vector<std::byte> bytes(8);
  // Integers without scales, and scales without integers.
  entries.insert(entries.begin(), {"a", DType::i8, {8}, bytes});
  entries.push_back({"b_quantized_scale", DType::f32, {2}, bytes});
  entries.push_back({"c_quantized_scale", DType::f32, {2}, bytes});
  entries.push_back({"c", DType::f32, {2}, bytes});
  const DequantizedEntries plain(entries, "file");
  std::string names;
  for (const SafetensorsEntry& entry : plain.entries()) {
    names += entry.name + " " + std::string(trivet::name_of(entry.dtype)) + ", ";
  }
  CHECK(names == "a i8, w f32, b_quantized_scale f32, c_quantized_scale f32, c f32, ");
}

TEST_CASE("scales that do not fit are refused by name") {
  const auto weights = quantize_weights(kWeights, {2, 3}, 8, ScaleAxis::columns);
  const auto packed = quantize_weights(kWeights, {2, 3}, 4, ScaleAxis::columns);
  const std::vector<float> three(3, 1), four(4, 1), five(5, 1);
  const auto refused = [&](const QuantizedWeights& of, DType dtype, const Shape& shape,
                           const std::vector<float>& scales) {
    std::vector<SafetensorsEntry> entries = entries_of(of);
    entries[1] = {"w_quantized_scale", dtype, shape, std::as_bytes(std::span(scales))};
    try {
      const DequantizedEntries plain(entries, "a.safetensors");
    } catch (const trivet::Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(refused(weights, DType::f32, {3}, three).empty());
  CHECK_THAT(refused(weights, DType::i32, {3}, three),
             Contains("a.safetensors: w_quantized_scale is i32, not floats"));
  CHECK_THAT(refused(weights, DType::f32, {4}, four),
             Contains("w_quantized_scale has the shape [4], which does not fit i8 [2, 3]"));
  CHECK_THAT(refused(weights, DType::f32, {3, 1}, three), Contains("does not fit"));
  CHECK_THAT(refused(weights, DType::f32, {1, 3}, three), Contains("does not fit"));
  CHECK_THAT(refused(packed, DType::f32, {5}, five), Contains("does not fit u8 [2, 2]"));
  CHECK_THAT(refused(weights, DType::f32, {3}, {1, std::nanf(""), 1}),
             Contains("w_quantized_scale has a scale that is not finite"));
}

TEST_CASE("weights that cannot be quantized are refused") {
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH(
      quantize_weights(std::vector<float>{1, infinite}, {1, 2}, 8, ScaleAxis::columns),
      Contains("not finite"));
  CHECK_THROWS_WITH(quantize_weights(kWeights, {6}, 8, ScaleAxis::columns),
                    Contains("cannot be quantized"));
  CHECK_THROWS_WITH(quantize_weights(kWeights, {2, 3}, 5, ScaleAxis::columns),
                    Contains("8 or 4 bits, not 5"));
}

}  // namespace quantized_weights_test
