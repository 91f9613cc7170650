// SPDX-License-Identifier: Apache-2.0
// Attention whose heads are split over the devices along mdl.
#include <utility>

#include "nn/attention/multi_head_attention.h"
#include "nn/remat/checkpoint_policy.h"
#include "nn/split/split_product.h"
#include "trivet/ops/ops_mesh.h"

namespace trivet::nn {

// Blocks b, b + 1, .. of extent / kv_heads blocks share a head. Those of other processes may share
// it, too, so each process adds the gradients of all.
std::vector<Tensor> MultiHeadAttention::kv_blocks(const Tensor& whole) const {
  if (!shares_kv_heads()) return ops::split_blocks(whole, 2, heads_axis_);
  const MeshAxis sharing(heads_axis_.extent() / kv_heads_);
  std::vector<Tensor> blocks;
  for (const Tensor& head : ops::split_blocks(whole, 2, MeshAxis(kv_heads_))) {
    for (Tensor& block : ops::fan_out(head, sharing)) blocks.push_back(std::move(block));
  }
  if (!heads_axis_.is_shared()) return blocks;
  return ops::split_blocks(ops::concat(blocks, 2), 2, heads_axis_);
}

MultiHeadAttention::HeadBlocks MultiHeadAttention::blocks_of(const Tensor& q,
                                                             const KeysAndValues& kv) const {
  return {ops::split_blocks(q, 2, heads_axis_), kv_blocks(kv.keys), kv_blocks(kv.values)};
}

// What mixes features of several heads, or has weights for all of them, takes the whole.
bool MultiHeadAttention::makes_blocks() const {
  return heads_axis_.is_split() && convolutions_[kQuery] == nullptr && query_norm_ == nullptr &&
         !relative_;
}

MultiHeadAttention::HeadBlocks MultiHeadAttention::make_blocks(const Tensor& x,
                                                               const Tensor& positions,
                                                               FpropContext& context) const {
  const std::vector<Tensor> x_blocks = ops::fan_out(x, heads_axis_);
  const auto by_head = [&](const char* name, Product product) {
    std::vector<Tensor> blocks = named_columns(name, *products_[product], x, x_blocks, context);
    for (Tensor& y : blocks) y = ops::reshape(y, {x.dim(0), x.dim(1), -1, head_dims_});
    return blocks;
  };
  HeadBlocks blocks;
  blocks.q = by_head("query_proj", kQuery);
  if (shares_kv_heads()) {
    const KeysAndValues kv = keys_and_values(x, positions, nullptr, context);
    blocks.keys = kv_blocks(kv.keys);
    blocks.values = kv_blocks(kv.values);
  } else {
    blocks.keys = by_head("key_proj", kKey);
    blocks.values = by_head("value_proj", kValue);
  }
  std::vector<Tensor> scales;
  if (per_dim_scale_ != nullptr) scales = ops::fan_out(query_scale(), heads_axis_);
  for (std::size_t i = 0; i < blocks.q.size(); ++i) {
    Tensor &q = blocks.q[i], &k = blocks.keys[i];
    if (rotary_) q = ops::rope(q, positions, theta_, rotary_dims_);
    if (rotary_ && !shares_kv_heads()) k = ops::rope(k, positions, theta_, rotary_dims_);
    if (!scales.empty()) q = ops::mul(q, scales[i]);
  }
  return blocks;
}

std::vector<Tensor> MultiHeadAttention::mixed_blocks(const HeadBlocks& blocks,
                                                     const ops::AttentionOptions& options) const {
  std::vector<Tensor> biases, mixed;
  if (const Tensor& bias = options.bias; bias.defined()) {
    biases =
        bias.dim(1) > 1 ? ops::split_blocks(bias, 1, heads_axis_) : ops::fan_out(bias, heads_axis_);
  }
  for (std::size_t i = 0; i < blocks.q.size(); ++i) {
    const Tensor& q = blocks.q[i];
    ops::AttentionOptions own = options;
    if (!biases.empty()) own.bias = biases[i];
    if (own.dropout > 0 && heads_axis_.is_split()) {
      const std::int64_t block = heads_axis_.first() + static_cast<std::int64_t>(i);
      own.dropout_key = block_key(options.dropout_key, block);
    }
    const Tensor y = ops::attention(q, blocks.keys[i], blocks.values[i], own);
    mixed.push_back(ops::reshape(y, {q.dim(0), q.dim(1), q.dim(2) * head_dims_}));
  }
  return mixed;
}

Tensor MultiHeadAttention::output_of(std::span<const Tensor> mixed, FpropContext& context) const {
  return heads_axis_.is_split() ? named_rows("out_proj", *output_, mixed, context)
                                : named_fprop("out_proj", *output_, mixed.front(), context);
}

}  // namespace trivet::nn
