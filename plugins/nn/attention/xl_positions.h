// SPDX-License-Identifier: Apache-2.0
// The positions of Transformer-XL (Dai et al. 2019, section 3.3) in attention, as in Praxis'
// DotProductAttentionXL. With the scaled query q_i, the score of query i and key j is
//
//   (q_i + u) k_j + (q_i + v) W r_(i - j),
//
// r_d the sines and cosines of the distance d as in nn/PositionalEmbedding. As in Praxis, u and v
// are added to the query after its scaling; in the paper before. Distances are between places in
// the row, which equals the distance of positions within a segment.
//
// Parameters of the attention: "pos_proj/w" [rel_pos_emb_dim, num_heads * dims_per_head], and "u"
// and "v" [num_heads, dims_per_head], which start at 0.
#pragma once

#include <memory>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

// asking_i r_(i - j) of each head, for queries at the last of `keys` positions: asking [B, T,
// heads, D] and r [keys + T - 1, heads * D] of the distances keys - 1, keys - 2, .., 1 - T -> f32
// [B, heads, T, keys].
Tensor relative_scores(const Tensor& asking, const Tensor& farthest_first, std::int64_t keys);

class XlPositions {
 public:
  XlPositions(std::int64_t rel_pos_emb_dim, std::int64_t heads, std::int64_t head_dims,
              const InitConfig& init, Scope& scope);

  // q + u, for q [B, T, heads, head_dims].
  Tensor content(const Tensor& q) const;
  // (q_i + v) W r_(i - j) for queries at the last of `keys` positions: f32 [B, heads, T, keys].
  Tensor bias(const Tensor& q, std::int64_t keys, FpropContext& context) const;

  // The same with what W r is for the distances so far, which `known` keeps.
  Tensor bias(const Tensor& q, SequenceBuffer& known, FpropContext& context) const;
  SequenceBuffer make_buffer(std::int64_t max_length) const;

 private:
  // W r_d for d = from, from + step, ..: [count, heads * head_dims].
  Tensor projected(Device& device, std::int64_t from, std::int64_t step, std::int64_t count,
                   FpropContext& context) const;
  // The bias from W r of the distances keys - 1, keys - 2, .., 1 - T.
  Tensor shifted(const Tensor& q, const Tensor& farthest_first, std::int64_t keys) const;

  Device& device_;
  std::int64_t dims_, heads_, head_dims_;
  std::shared_ptr<Layer> projection_;
  Parameter &u_, &v_;
};

}  // namespace trivet::nn
