// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/xl_positions.h"

#include <vector>

#include "nn/attention/positional_embedding.h"
#include "nn/basic/templates.h"
#include "trivet/ops.h"

namespace trivet::nn {

Tensor relative_scores(const Tensor& asking, const Tensor& farthest_first, std::int64_t keys) {
  const std::int64_t batch = asking.dim(0), n = asking.dim(1), heads = asking.dim(2);
  const std::int64_t dims = asking.dim(3), distances = farthest_first.dim(0);
  const Tensor r = ops::reshape(farthest_first, {distances, heads, dims});
  const Tensor by_head =
      ops::reshape(ops::transpose(asking, {2, 0, 1, 3}), {heads, batch * n, dims});
  const Tensor all = ops::matmul(by_head, ops::transpose(r, {1, 0, 2}), {.transpose_b = true});
  // Query i and key j are at n - 1 - i + j of row i. In rows that are one shorter, the element n -
  // 1 - i + j of row i is n - 1 + j of the rows' start for all i.
  Tensor rows = ops::reshape(all, {heads, batch, n * distances});
  if (n > 1) {
    const std::int64_t length = n * (distances - 1);
    rows = ops::slice(rows, 2, n - 1, n - 1 + length);
    rows = ops::reshape(rows, {heads, batch, n, distances - 1});
    rows = ops::slice(rows, 3, 0, keys);
  }
  return ops::transpose(ops::reshape(rows, {heads, batch, n, keys}), {1, 0, 2, 3});
}

XlPositions::XlPositions(std::int64_t rel_pos_emb_dim, std::int64_t heads, std::int64_t head_dims,
                         const InitConfig& init, Scope& scope)
    : device_(scope.device()),
      dims_(rel_pos_emb_dim),
      heads_(heads),
      head_dims_(head_dims),
      projection_(
          scope.layer("pos_proj", linear(dims_, heads * head_dims, /*has_bias=*/false, init, {}))),
      u_(scope.parameter("u", {heads, head_dims}, {.init = {Init::constant, 0}})),
      v_(scope.parameter("v", {heads, head_dims}, {.init = {Init::constant, 0}})) {}

Tensor XlPositions::content(const Tensor& q) const {
  return ops::add(q, u_.value());
}

Tensor XlPositions::projected(Device& device, std::int64_t from, std::int64_t step,
                              std::int64_t count, FpropContext& context) const {
  std::vector<std::int32_t> distances;
  for (std::int64_t i = 0; i < count; ++i) {
    distances.push_back(static_cast<std::int32_t>(from + i * step));
  }
  const Tensor sines = sinusoids(Tensor::from<std::int32_t>(device, distances, {1, count}), dims_);
  return ops::reshape(projection_->fprop(sines, context), {count, heads_ * head_dims_});
}

Tensor XlPositions::shifted(const Tensor& q, const Tensor& farthest_first,
                            std::int64_t keys) const {
  return relative_scores(ops::add(q, v_.value()), farthest_first, keys);
}

Tensor XlPositions::bias(const Tensor& q, std::int64_t keys, FpropContext& context) const {
  const std::int64_t distances = q.dim(1) + keys - 1;
  return shifted(q, projected(q.device(), keys - 1, -1, distances, context), keys);
}

Tensor XlPositions::bias(const Tensor& q, SequenceBuffer& known, FpropContext& context) const {
  const std::int64_t n = q.dim(1), first = known.length(), keys = first + n;
  const Tensor fresh = projected(q.device(), first, 1, n, context);
  known.append(ops::reshape(fresh, {1, n, heads_ * head_dims_}));
  std::vector<std::int32_t> backwards;
  for (std::int64_t d = keys; d-- > 0;) backwards.push_back(static_cast<std::int32_t>(d));
  const Tensor order = Tensor::from<std::int32_t>(q.device(), backwards, {keys});
  Tensor r = ops::gather_rows(ops::reshape(known.values(), {keys, heads_ * head_dims_}), order);
  if (n > 1) {
    const Tensor later = projected(q.device(), -1, -1, n - 1, context);
    r = ops::concat(std::vector<Tensor>{r, later}, 0);
  }
  return shifted(q, r, keys);
}

SequenceBuffer XlPositions::make_buffer(std::int64_t max_length) const {
  const std::int64_t extents[] = {heads_ * head_dims_};
  return {device_, 1, max_length, extents};
}

}  // namespace trivet::nn
