// SPDX-License-Identifier: Apache-2.0
// The products of an attention, for layers that combine positions in other ways than
// nn/MultiHeadAttention: x [B, T, input_dims] to queries, keys and values [B, T, H, D], and their
// mixture back. Names and shapes of the weights are those of nn/MultiHeadAttention, so that a
// trained encoder can continue with another attention.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "trivet/layer.h"

namespace trivet::nn {

struct AttentionProductsConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t num_heads = 0;
  bool has_bias = true;
  InitConfig init;
  InitConfig output_init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(AttentionProductsConfig, trivet::LayerConfig,
              (input_dims,
               "Depth of the input and of the output; 0 in a template: as the layer around it.",
               at_least(0)),
              (num_heads, "Heads of the queries; 0 in a template: as the layer around it says.",
               at_least(0)),
              (has_bias, "Adds bias vectors to the four products."),
              (init, "Initializer of the weights. Default: that of nn/Linear."),
              (output_init, "Initializer of the output projection. Default: init."))

class AttentionProducts {
 public:
  // Makes the children "query", "key", "value" and "output". `layer` is the name for messages.
  AttentionProducts(std::string_view layer, const AttentionProductsConfig& config, Scope& scope);

  std::int64_t heads() const { return heads_; }
  std::int64_t head_dims() const { return head_dims_; }

  // Throws Error unless x is [B, T, input_dims].
  void check(const Tensor& x) const;
  Tensor queries(const Tensor& x, FpropContext& context) const {
    return by_head("query_proj", *query_, x, context);
  }
  Tensor keys(const Tensor& x, FpropContext& context) const {
    return by_head("key_proj", *key_, x, context);
  }
  Tensor values(const Tensor& x, FpropContext& context) const {
    return by_head("value_proj", *value_, x, context);
  }
  // mixed [B, T, H, D] -> [B, T, input_dims].
  Tensor output(const Tensor& mixed, FpropContext& context) const;

 private:
  Tensor by_head(std::string_view name, Layer& product, const Tensor& x,
                 FpropContext& context) const;

  std::string layer_, path_;
  std::int64_t input_dims_, heads_, head_dims_;
  std::shared_ptr<Layer> query_, key_, value_, output_;
};

}  // namespace trivet::nn
