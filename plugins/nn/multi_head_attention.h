// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention: self-attention of Vaswani et al. 2017, x [B, T, input_dims] -> the same
// shape.
//
//   head h: softmax(q_h k_h^T / sqrt(dims_per_head)) v_h,  q, k, v = x w + b each;
//   y = all heads side by side, times "output".
//
// With num_kv_heads < num_heads, heads share keys and values in groups (Ainslie et al. 2023; one is
// multi-query attention, Shazeer 2019). Children are the nn/Linear "query", "key", "value" and
// "output", so parameters are "query/w" [input_dims, num_heads * dims_per_head], "query/b", ...,
// "output/w" [num_heads * dims_per_head, input_dims], "output/b".
//
// Where the context has segment_ids [B, T], places of different segments do not see each other; one
// that is padding sees, and is seen by, nothing but padding.
#pragma once

#include <memory>
#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct MultiHeadAttentionConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t dims_per_head = 0;
  bool causal = false;
  bool has_bias = true;
  InitConfig init;

  void validate(Problems& problems) const;
};
TRIVET_CONFIG(MultiHeadAttentionConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input and of the output.", required, at_least(1)),
              (num_heads, "Heads of the queries.", required, at_least(1)),
              (num_kv_heads, "Heads of keys and values; 0: num_heads.", at_least(0)),
              (dims_per_head, "Depth of a head; 0: input_dims / num_heads.", at_least(0)),
              (causal, "A place sees itself and those before it only."),
              (has_bias, "Adds bias vectors to the four products."),
              (init, "How the weights start; by default as nn/Linear's."))

class MultiHeadAttention final : public Layer {
 public:
  using Config = MultiHeadAttentionConfig;
  MultiHeadAttention(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t input_dims_, heads_, kv_heads_, head_dims_;
  bool causal_;
  std::shared_ptr<Layer> query_, key_, value_, output_;
};

}  // namespace trivet::nn
