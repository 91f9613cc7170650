// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/reuse_transformer.h"

#include <string>

#include "nn/basic/checks.h"
#include "nn/basic/templates.h"

namespace trivet::nn {
namespace {

// All of the heads of a block of this template for -1.
std::int64_t reused_heads(const ReuseTransformerConfig& config, const ConfigOf<Layer>& block) {
  if (config.reuse_attention >= 0) return config.reuse_attention;
  const Value* heads = block.fields().find("num_heads");
  return heads != nullptr && heads->is_integer() ? heads->as_integer() : 0;
}

}  // namespace

ReuseTransformer::ReuseTransformer(const Config& config, Scope& scope)
    : dropout_(scope.layer("input_dropout", dropout(config.input_dropout_prob))) {
  const ConfigOf<Layer>& block = config.transformer_layer_params_tpl;
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    ConfigOf<Layer> layer = block;
    if (i > 0 && i <= config.max_reuse_layer_idx.value_or(i)) {
      complete(layer, "reuse_heads", reused_heads(config, block), 0);
    }
    layers_.push_back(scope.layer("layer_" + std::to_string(i), layer));
    const void* found = layers_.back() ? layers_.back()->extension(kReuseBlockExtension) : nullptr;
    if (found == nullptr) {
      refuse_block("nn/ReuseTransformer", scope.path(), "nn/ReuseBlock", block);
    }
    blocks_.push_back(static_cast<const ReuseBlock*>(found));
  }
}

Tensor ReuseTransformer::fprop(const Tensor& x, FpropContext& context) {
  Tensor y = dropout_ ? dropout_->fprop(x, context) : x, weights;
  for (const ReuseBlock* block : blocks_) y = block->fprop(y, weights, context);
  return y;
}

}  // namespace trivet::nn
