// SPDX-License-Identifier: Apache-2.0
#include "trivet/data/quantized_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "trivet/data/float_values.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Numbers [outer, extent, inner] with a scale for each index along the middle axis.
struct Layout {
  std::int64_t outer = 1, extent = 1, inner = 1;

  std::int64_t size() const { return outer * extent * inner; }
  std::int64_t index_of(std::int64_t number) const { return number / inner % extent; }
};

Layout layout_of(const Shape& shape, ScaleAxis axis) {
  const std::int64_t extent = shape[axis == ScaleAxis::columns ? shape.rank() - 1 : 0];
  const std::int64_t rest = extent > 0 ? shape.size() / extent : 0;
  if (axis == ScaleAxis::columns) return {.outer = rest, .extent = extent};
  return {.extent = extent, .inner = rest};
}

Shape with_extent(const Shape& shape, ScaleAxis axis, std::int64_t extent) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  (axis == ScaleAxis::columns ? extents.back() : extents.front()) = extent;
  return Shape(extents);
}

Shape scale_shape(const Shape& shape, ScaleAxis axis) {
  if (axis == ScaleAxis::columns) return {shape[shape.rank() - 1]};
  std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()), 1);
  extents.front() = shape[0];
  return Shape(extents);
}

// The byte of a packed tensor that has a number, and whether in its upper four bits.
std::pair<std::size_t, bool> packed_place(const Layout& layout, std::int64_t number) {
  const std::int64_t index = layout.index_of(number);
  const std::int64_t outer = number / (layout.extent * layout.inner);
  const std::int64_t row = outer * ((layout.extent + 1) / 2) + index / 2;
  return {static_cast<std::size_t>(row * layout.inner + number % layout.inner), index % 2 == 1};
}

int unpacked(unsigned bits) {
  return bits < 8 ? static_cast<int>(bits) : static_cast<int>(bits) - 16;
}

// The scales of an entry with the layout of the numbers they are of.
struct Scales {
  std::vector<float> values;
  Shape shape;  // of the numbers
  Layout layout;
};

Scales scales_of(const SafetensorsEntry& entry, const SafetensorsEntry& scale,
                 const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw Error(file + ": " + scale.name + " " + what,
                {.hint = "'trivet ckpt convert --quantize' writes such weights"});
  };
  if (!holds_floats(scale)) fail("is " + std::string(name_of(scale.dtype)) + ", not floats");
  const bool packed = entry.dtype == DType::u8;
  const bool by_column = scale.shape.rank() == 1;
  const ScaleAxis axis = by_column ? ScaleAxis::columns : ScaleAxis::rows;
  Scales scales{.values = floats_of(scale), .shape = entry.shape, .layout = {}};
  const std::int64_t count = scale.shape.size();
  bool fits = entry.shape.rank() >= 2 && (by_column || scale.shape.rank() == entry.shape.rank());
  if (fits) {
    const std::int64_t extent = entry.shape[by_column ? entry.shape.rank() - 1 : 0];
    if (packed) scales.shape = with_extent(entry.shape, axis, count);
    fits = extent == (packed ? (count + 1) / 2 : count) &&
           scale.shape == scale_shape(scales.shape, axis);
  }
  if (!fits) {
    fail("has the shape " + scale.shape.to_string() + ", which does not fit " +
         std::string(name_of(entry.dtype)) + " " + entry.shape.to_string());
  }
  for (const float value : scales.values) {
    if (!std::isfinite(value)) fail("has a scale that is not finite");
  }
  scales.layout = layout_of(scales.shape, axis);
  return scales;
}

std::vector<float> values_of(const SafetensorsEntry& entry, const Scales& scales) {
  const Layout& layout = scales.layout;
  std::vector<float> values(static_cast<std::size_t>(scales.shape.size()));
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    int integer = 0;
    if (entry.dtype == DType::i8) {
      integer = static_cast<std::int8_t>(entry.data[static_cast<std::size_t>(i)]);
    } else {
      const auto [byte, upper] = packed_place(layout, i);
      const auto both = std::to_integer<unsigned>(entry.data[byte]);
      integer = unpacked(upper ? both >> 4 : both & 15);
    }
    values[static_cast<std::size_t>(i)] =
        scales.values[static_cast<std::size_t>(layout.index_of(i))] * static_cast<float>(integer);
  }
  return values;
}

}  // namespace

QuantizedWeights quantize_weights(std::span<const float> values, const Shape& shape, int bits,
                                  ScaleAxis axis) {
  if (shape.rank() < 2 || std::cmp_not_equal(values.size(), shape.size())) {
    throw Error("weights " + shape.to_string() + " of " + std::to_string(values.size()) +
                " numbers cannot be quantized");
  }
  if (bits != 8 && bits != 4) throw Error("weights have 8 or 4 bits, not " + std::to_string(bits));
  const Layout layout = layout_of(shape, axis);
  const auto largest = static_cast<float>((1 << (bits - 1)) - 1);
  QuantizedWeights found{
      .shape = shape, .scale_shape = scale_shape(shape, axis), .integers = {}, .scales = {}};
  found.scales.assign(static_cast<std::size_t>(layout.extent), 0);
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const float value = values[static_cast<std::size_t>(i)];
    if (!std::isfinite(value)) throw Error("a weight is not finite");
    float& scale = found.scales[static_cast<std::size_t>(layout.index_of(i))];
    scale = std::max(scale, std::fabs(value));
  }
  // In the arithmetic of nn/FakeQuantization. Where all is 0, any scale will do.
  for (float& scale : found.scales) scale = (scale > 0 ? scale : 1) * (1 / largest);
  if (bits == 4) {
    found.dtype = DType::u8;
    found.shape = with_extent(shape, axis, (layout.extent + 1) / 2);
  }
  found.integers.assign(static_cast<std::size_t>(found.shape.size()), std::byte{0});
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const float scaled = values[static_cast<std::size_t>(i)] /
                         found.scales[static_cast<std::size_t>(layout.index_of(i))];
    const float rounded = std::clamp(std::floor(scaled + 0.5F), -largest - 1, largest);
    const auto integer = static_cast<int>(rounded);
    if (bits == 8) {
      found.integers[static_cast<std::size_t>(i)] = static_cast<std::byte>(integer);
    } else {
      const auto [byte, upper] = packed_place(layout, i);
      found.integers[byte] |= static_cast<std::byte>((integer & 15) << (upper ? 4 : 0));
    }
  }
  return found;
}

DequantizedEntries::DequantizedEntries(std::span<const SafetensorsEntry> entries,
                                       const std::string& file) {
  std::map<std::string_view, const SafetensorsEntry*> by_name;
  for (const SafetensorsEntry& entry : entries) by_name[entry.name] = &entry;
  const auto integers_of = [&](const SafetensorsEntry& scale) -> const SafetensorsEntry* {
    if (!scale.name.ends_with(kQuantizedScale)) return nullptr;
    const auto found = by_name.find(
        std::string_view(scale.name).substr(0, scale.name.size() - kQuantizedScale.size()));
    if (found == by_name.end()) return nullptr;
    const DType dtype = found->second->dtype;
    return dtype == DType::i8 || dtype == DType::u8 ? found->second : nullptr;
  };
  for (const SafetensorsEntry& entry : entries) {
    if (integers_of(entry) != nullptr) continue;
    const auto scale = by_name.find(entry.name + std::string(kQuantizedScale));
    if (scale == by_name.end() || integers_of(*scale->second) != &entry) {
      entries_.push_back(entry);
      continue;
    }
    const Scales scales = scales_of(entry, *scale->second, file);
    // Its memory does not move with the vector of vectors.
    const std::vector<float>& values = values_.emplace_back(values_of(entry, scales));
    entries_.push_back({.name = entry.name,
                        .dtype = DType::f32,
                        .shape = scales.shape,
                        .data = std::as_bytes(std::span(values))});
  }
}

}  // namespace trivet
