// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/stacked_transformer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "nn/basic/templates.h"

namespace trivet::nn {
namespace {

// A block with moe_layer_tpl instead of its Mlp refuses fields of the Mlp, which the other blocks
// use.
ConfigOf<Layer> without_mlp(const ConfigOf<Layer>& block) {
  Value fields = block.fields();
  for (const char* field : {"activation", "use_gated_activation"}) fields.erase(field);
  return {std::string(block.key()), std::move(fields)};
}

}  // namespace

void StackedTransformerConfig::validate(Diagnostics& diagnostics) const {
  if (num_layers > 0 && !transformer_layer_params_tpl) {
    diagnostics.add("transformer_layer_params_tpl", "is \"none\"");
  }
  if (!moe_layers.empty() && !moe_layer_tpl) {
    diagnostics.add("moe_layer_tpl", "is not set, but moe_layers lists blocks that need it");
  }
  if (!attention_layers.empty() && !attention_layer_tpl) {
    diagnostics.add("attention_layer_tpl",
                    "is \"none\", but attention_layers lists blocks that need it");
  }
  const auto check = [&](const char* field, const std::vector<std::int64_t>& layers) {
    for (const std::int64_t layer : layers) {
      if (num_layers == 0 || layer < num_layers) continue;
      diagnostics.add(field, "has " + std::to_string(layer) + ", but the last of the " +
                                 std::to_string(num_layers) + " blocks is " +
                                 std::to_string(num_layers - 1));
    }
  };
  check("moe_layers", moe_layers);
  check("attention_layers", attention_layers);
}

StackedTransformer::StackedTransformer(const Config& config, Scope& scope)
    : InTurn(config.checkpoint_policy, "transformer_layer_out") {
  add(scope, "input_dropout", dropout(config.input_dropout_prob));
  ConfigOf<Layer> block = config.transformer_layer_params_tpl;
  const Value* own = block.fields().find("dropout");
  const bool has_own = own != nullptr && own->is_float() && own->as_float() != 0;
  if (config.dropout_prob > 0 && !has_own) {
    complete(block, "atten_dropout", config.dropout_prob, 0.0);
    complete(block, "residual_dropout", config.dropout_prob, Value());
    complete(block, "relu_dropout", config.dropout_prob, Value());
  }
  const auto lists = [](const std::vector<std::int64_t>& layers, std::int64_t i) {
    return std::ranges::find(layers, i) != layers.end();
  };
  bool has_mlp = false;
  for (std::int64_t i = 0; i < config.num_layers; ++i) has_mlp |= !lists(config.moe_layers, i);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    ConfigOf<Layer> layer = block;
    if (lists(config.attention_layers, i)) {
      Value fields = layer.fields();
      fields.set("attention_tpl", config.attention_layer_tpl.to_value());
      layer = {std::string(layer.key()), std::move(fields)};
    }
    if (lists(config.moe_layers, i)) {
      if (has_mlp) layer = without_mlp(layer);
      complete(layer, "ffn_tpl", config.moe_layer_tpl.to_value(), Value());
    }
    add(scope, "layer_" + std::to_string(i), layer);
  }
}

}  // namespace trivet::nn
