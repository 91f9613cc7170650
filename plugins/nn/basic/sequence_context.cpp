// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/sequence_context.h"

#include <string>
#include <vector>

#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet::nn {

Tensor reordered(const Tensor& x, std::span<const std::int32_t> rows) {
  std::vector<Tensor> parts;
  for (const std::int32_t row : rows) {
    if (row < 0 || row >= x.dim(0)) {
      throw Error("[extend_step] expected rows of a cache of " + std::to_string(x.dim(0)) +
                  ", got row " + std::to_string(row));
    }
    parts.push_back(ops::slice(x, 0, row, row + 1));
  }
  return parts.empty() ? ops::slice(x, 0, 0, 0) : ops::concat(parts, 0);
}

Tensor with_rows(const Tensor& x, const Tensor& more) {
  return x.defined() ? ops::concat(std::vector<Tensor>{x, more}, 0) : more;
}

Tensor fitting(const Tensor& positions, const Tensor& x) {
  const bool fits = positions.defined() && positions.rank() == 2 && x.rank() >= 2 &&
                    positions.dim(0) == x.dim(0) && positions.dim(1) == x.dim(1);
  return fits ? positions : Tensor();
}

Tensor positions_of(const Tensor& x, const FpropContext& context, std::int64_t first) {
  if (const Tensor given = fitting(context.positions, x); given.defined()) return given;
  const std::int64_t batch = x.dim(0), length = x.dim(1);
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(batch * length));
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t t = 0; t < length; ++t) {
      positions.push_back(static_cast<std::int32_t>(first + t));
    }
  }
  return Tensor::from<std::int32_t>(x.device(), positions, {batch, length});
}

Tensor segments_of(const Tensor& ids, const Tensor& paddings) {
  if (!paddings.defined()) return ids;
  NoGrad no_grad;
  const Tensor counted = ops::add(ops::neg(paddings), 1);
  // (id + 1) * counted - 1; ids are exact in f32 up to 2^24.
  const Tensor from_one = ids.defined() ? ops::add(ops::cast(ids, DType::f32), 1) : counted;
  return ops::cast(ops::add(ops::mul(from_one, counted), -1), DType::i32);
}

void set_segments(ops::AttentionOptions& options, const Tensor& q, const Tensor& q_segments,
                  const Tensor& kv, const Tensor& kv_segments) {
  if (!q_segments.defined() && !kv_segments.defined()) return;
  const auto or_zeros = [](const Tensor& segments, const Tensor& x) {
    if (segments.defined()) return segments;
    return Tensor::zeros(x.device(), {x.dim(0), x.dim(1)}, DType::i32);
  };
  options.q_segments = or_zeros(q_segments, q);
  options.kv_segments = or_zeros(kv_segments, kv);
}

}  // namespace trivet::nn
