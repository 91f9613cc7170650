// SPDX-License-Identifier: Apache-2.0
// Parts of state space models, which read sequences in chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trivet/layer.h"
#include "trivet/tensor.h"

namespace trivet::nn {

// Positions in a chunk. Work inside a chunk grows with its length, that between chunks with their
// number.
inline constexpr std::int64_t kChunk = 64;

// f32 [rows, columns] of `value(row, column)`.
Tensor constants(Device& device, std::int64_t rows, std::int64_t columns,
                 const std::function<double(std::int64_t, std::int64_t)>& value);

// Appends the chunks of x [D, B, T], cut by halving: direct slices would have gradients as large
// as x.
void cut(const Tensor& x, std::int64_t chunk, std::vector<Tensor>& parts);
// The opposite.
Tensor joined_chunks(std::span<const Tensor> parts);

// x [B, T, ..] with zeros where the context has padding.
Tensor without_padding(const Tensor& x, const FpropContext& context);

// Row rows[i] of x [D, B, ..] as row i.
Tensor reordered_rows(const Tensor& x, std::span<const std::int32_t> rows);
// The same of the segments of a cache; none stay none.
void reorder_segments(std::vector<std::int32_t>& segments, std::span<const std::int32_t> rows);

// Which positions start a segment, of ids i32 [B, T] or undefined. Segments are numbered from 1; 0
// is padding, which starts none.
struct Starts {
  // `last`: the segment of each row before these, 0 for none, or empty; becomes that after them.
  Starts(const Tensor& ids, std::vector<std::int32_t>& last);
  // For position t: 0 where it starts a segment, else 1, [1, B, 1].
  Tensor at(Device& device, std::size_t t, std::int64_t rows) const;

  bool any = false;
  std::vector<float> continues;  // [T, B]
};

}  // namespace trivet::nn
