// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/hf_parts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace trivet::lm {
namespace {

struct NamedActivation {
  std::string_view name, type;
  bool approximate = true;
};
// For each layer, the first name is the one to write.
constexpr std::array kActivations = {
    NamedActivation{"gelu_new", "nn/Gelu"},    NamedActivation{"gelu_pytorch_tanh", "nn/Gelu"},
    NamedActivation{"gelu", "nn/Gelu", false}, NamedActivation{"silu", "nn/Silu"},
    NamedActivation{"swish", "nn/Silu"},       NamedActivation{"relu", "nn/Relu"},
    NamedActivation{"tanh", "nn/Tanh"},        NamedActivation{"sigmoid", "nn/Sigmoid"},
};

const NamedActivation* find_activation(std::string_view name) {
  const auto found = std::find_if(kActivations.begin(), kActivations.end(),
                                  [&](const auto& known) { return known.name == name; });
  return found == kActivations.end() ? nullptr : &*found;
}

Value norm(const char* type, double epsilon) {
  return Value::table({{"type", type}, {"epsilon", epsilon}});
}

}  // namespace

std::string activation_in(const HfConfig& config, std::string_view field,
                          const std::string& otherwise) {
  std::string name = config.text(field, otherwise);
  if (find_activation(name) != nullptr) return name;
  std::string known;
  for (const auto& each : kActivations) {
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  config.refuse(field, "is \"" + name + "\", which is not supported", "supported: " + known);
}

Value activation_layer(std::string_view name) {
  const NamedActivation& found = *find_activation(name);
  Value layer = Value::table({{"type", found.type}});
  if (found.type == "nn/Gelu") layer.set("approximate", found.approximate);
  return layer;
}

std::string activation_name(std::string_view type, const Value& fields) {
  const Value* approximate = fields.find("approximate");
  const bool rough = approximate == nullptr || approximate->as_boolean();
  for (const NamedActivation& known : kActivations) {
    if (known.type == type && (type != "nn/Gelu" || known.approximate == rough)) {
      return std::string(known.name);
    }
  }
  return {};
}

Value decoder_model(const DecoderShape& shape, const char* norm_type, Value block) {
  block.set("type", "nn/TransformerBlock");
  block.set("activation", activation_layer(shape.activation));
  block.set("has_bias", shape.has_bias);
  block.set("norm_tpl", norm(norm_type, shape.norm_epsilon));
  Value model = Value::table({{"type", "lm/LanguageModel"},
                              {"vocab_size", shape.vocab_size},
                              {"model_dims", shape.model_dims},
                              {"hidden_dims", shape.hidden_dims},
                              {"num_layers", shape.num_layers},
                              {"num_heads", shape.num_heads},
                              {"num_kv_heads", shape.num_kv_heads},
                              {"max_seq_len", shape.max_seq_len},
                              {"block_tpl", std::move(block)},
                              {"final_norm_tpl", norm(norm_type, shape.norm_epsilon)}});
  const char* head = shape.tied ? "nn/SharedEmbeddingSoftmax" : "nn/FullSoftmax";
  model.set("softmax_tpl", Value::table({{"type", head}, {"has_bias", false}}));
  if (!shape.tied) model.set("embedding_tpl", Value::table({{"type", "nn/Embedding"}}));
  return model;
}

Value id_or_null(const std::optional<std::int32_t>& id) {
  return id ? Value(*id) : Value();
}

std::string block_path(std::int64_t layer) {
  return "transformer/layer_" + std::to_string(layer) + "/";
}

}  // namespace trivet::lm
