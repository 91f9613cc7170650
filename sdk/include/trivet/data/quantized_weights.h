// SPDX-License-Identifier: Apache-2.0
// Weights that files hold as integers of 8 or 4 bits with scales, under the names of Praxis:
//
//   NAME                   i8 [.., n], integers; or two integers of 4 bits in each byte: u8
//   NAME_quantized_scale   floats: [n], a scale for each column of the last axis; or of NAME's rank,
//                          [rows, 1, ..], a scale for each row of the first axis
//
//   value = scale * integer
//
// Integers of 4 bits are packed along the axis of the scales, the low four bits first; an odd
// number of them leaves the last four bits 0. So u8 [8, 3] with 5 scales of columns is a matrix [8,
// 5]. Integers of both sizes have a sign (two's complement).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/data/safetensors.h"
#include "trivet/tensor/shape.h"

namespace trivet {

inline constexpr std::string_view kQuantizedScale = "_quantized_scale";

enum class ScaleAxis { columns, rows };

struct QuantizedWeights {
  DType dtype = DType::i8;  // or u8: packed
  Shape shape, scale_shape;
  std::vector<std::byte> integers;
  std::vector<float> scales;
};

// The nearest integers of `bits` (8 or 4) bits, as nn/FakeQuantization rounds:
//
//   scale = max |w| / (2^(bits - 1) - 1),  integer = floor(w / scale + 1/2)
//
// `values` are f32 [rows, .., n] with at least two axes. Throws Error for a value that is not
// finite. [any-thread]
TRIVET_API QuantizedWeights quantize_weights(std::span<const float> values, const Shape& shape,
                                             int bits, ScaleAxis axis);

// Entries as models have them: each pair of integers and scales is one f32 entry NAME in the order
// of the integers. All others are as they are, also i8 without scales. [any-thread]
class TRIVET_API DequantizedEntries {
 public:
  // The data of `entries` must outlive this. Throws Error, naming `file` and the entry, for scales
  // that are not floats, do not fit the shape, or are not finite.
  DequantizedEntries(std::span<const SafetensorsEntry> entries, const std::string& file);
  // The numbers are its own.
  DequantizedEntries(const DequantizedEntries&) = delete;
  DequantizedEntries& operator=(const DequantizedEntries&) = delete;

  std::span<const SafetensorsEntry> entries() const { return entries_; }
  std::size_t quantized() const { return values_.size(); }  // entries that were integers

 private:
  std::vector<SafetensorsEntry> entries_;
  std::vector<std::vector<float>> values_;
};

}  // namespace trivet
