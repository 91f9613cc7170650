// SPDX-License-Identifier: Apache-2.0
// Field names and defaults are those of transformers' LlamaConfig. Rotary positions need no change
// of the weights: this layout keeps the two halves of a rotated pair head_dim / 2 apart, as
// ops::rope does (Meta's own files keep them adjacent).
#include "lm/huggingface/llama_layout.h"

#include <utility>

#include "lm/huggingface/hf_parts.h"

namespace trivet::lm {
namespace {

// Since version 5 of transformers, "rope_parameters" holds all settings of positions.
double rotary_theta(const HfConfig& config) {
  for (const char* table : {"rope_scaling", "rope_parameters"}) {
    const Value* scaling = config.find(table);
    if (scaling == nullptr) continue;
    const Value* type = scaling->find("rope_type");
    if (type == nullptr) type = scaling->find("type");
    const bool plain = type == nullptr ? scaling->find("factor") == nullptr : *type == "default";
    if (!scaling->is_table() || !plain) {
      config.refuse(table, "requests scaled positions, which are not supported");
    }
  }
  return config.number("rope_parameters.rope_theta", config.number("rope_theta", 10000));
}

bool has_bias(const HfConfig& config) {
  const bool attention = config.flag("attention_bias", false), mlp = config.flag("mlp_bias", false);
  if (attention != mlp) {
    config.refuse("mlp_bias", "must equal attention_bias",
                  "nn/TransformerBlock has biases everywhere or nowhere");
  }
  return attention;
}

}  // namespace

DecoderShape LlamaLayout::shape(const HfConfig& config) const {
  config.require("partial_rotary_factor", 1.0);
  DecoderShape shape;
  shape.vocab_size = config.size("vocab_size");
  shape.model_dims = config.size("hidden_size");
  shape.hidden_dims = config.size("intermediate_size");
  shape.num_layers = config.layers("num_hidden_layers");
  shape.num_heads = config.size("num_attention_heads");
  shape.num_kv_heads = config.size("num_key_value_heads", shape.num_heads);
  if (shape.num_heads % shape.num_kv_heads != 0) {
    config.refuse("num_key_value_heads", "is " + std::to_string(shape.num_kv_heads) +
                                             ", which does not divide num_attention_heads = " +
                                             std::to_string(shape.num_heads));
  }
  if (config.find("head_dim") == nullptr && shape.model_dims % shape.num_heads != 0) {
    config.refuse("num_attention_heads",
                  "is " + std::to_string(shape.num_heads) +
                      ", which does not divide hidden_size = " + std::to_string(shape.model_dims));
  }
  shape.dims_per_head = config.size("head_dim", shape.model_dims / shape.num_heads);
  if (shape.dims_per_head % 2 != 0) {
    config.refuse("head_dim", "is odd; rotary positions need pairs");
  }
  shape.max_seq_len = config.size("max_position_embeddings", 2048);
  shape.norm_epsilon = config.number("rms_norm_eps", 1e-6);
  shape.rotary_theta = rotary_theta(config);
  shape.activation = activation_in(config, "hidden_act", "silu");
  shape.has_bias = has_bias(config);
  shape.tied = config.flag("tie_word_embeddings", false);
  return shape;
}

Value LlamaLayout::config(const DecoderShape& shape, const SpecialTokenIds& ids) const {
  return Value::table({{"architectures", Value::array({"LlamaForCausalLM"})},
                       {"attention_bias", shape.has_bias},
                       {"bos_token_id", id_or_null(ids.bos)},
                       {"eos_token_id", id_or_null(ids.eos)},
                       {"head_dim", shape.dims_per_head},
                       {"hidden_act", shape.activation},
                       {"hidden_size", shape.model_dims},
                       {"intermediate_size", shape.hidden_dims},
                       {"max_position_embeddings", shape.max_seq_len},
                       {"mlp_bias", shape.has_bias},
                       {"model_type", name()},
                       {"num_attention_heads", shape.num_heads},
                       {"num_hidden_layers", shape.num_layers},
                       {"num_key_value_heads", shape.num_kv_heads},
                       {"rms_norm_eps", shape.norm_epsilon},
                       {"rope_scaling", Value()},
                       {"rope_theta", shape.rotary_theta},
                       {"tie_word_embeddings", shape.tied},
                       {"torch_dtype", "float32"},
                       {"vocab_size", shape.vocab_size}});
}

Value LlamaLayout::model(const DecoderShape& shape) const {
  Value attention = Value::table({{"type", "nn/MultiHeadAttention"},
                                  {"use_rotary_position_emb", true},
                                  {"rotary_theta", shape.rotary_theta}});
  if (shape.dims_per_head * shape.num_heads != shape.model_dims) {
    attention.set("dims_per_head", shape.dims_per_head);
  }
  return decoder_model(
      shape, "nn/RmsNorm",
      Value::table({{"use_gated_activation", true}, {"attention_tpl", std::move(attention)}}));
}

std::vector<HfTensor> LlamaLayout::tensors(const DecoderShape& shape) const {
  const std::int64_t d = shape.model_dims, hidden = shape.hidden_dims;
  const std::int64_t queries = shape.num_heads * shape.dims_per_head;
  const std::int64_t keys = shape.num_kv_heads * shape.dims_per_head;
  std::vector<HfTensor> tensors;
  const auto add = [&](const std::string& name, const Shape& extents, const std::string& variable) {
    tensors.push_back({name, extents, {variable}});
  };
  const auto add_transposed = [&](const std::string& name, const Shape& extents,
                                  const std::string& variable) {
    add(name, extents, variable);
    tensors.back().transposed = true;
  };
  add("embed_tokens.weight", {shape.vocab_size, d},
      shape.tied ? "softmax/table" : "embedding/table");
  for (std::int64_t i = 0; i < shape.num_layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".", path = block_path(i);
    const auto add_product = [&](const std::string& name, std::int64_t in, std::int64_t out,
                                 const std::string& own) {
      add_transposed(layer + name + ".weight", {out, in}, path + own + "/w");
      if (shape.has_bias) add(layer + name + ".bias", {out}, path + own + "/b");
    };
    add(layer + "input_layernorm.weight", {d}, path + "attention_norm/scale");
    add_product("self_attn.q_proj", d, queries, "attention/query");
    add_product("self_attn.k_proj", d, keys, "attention/key");
    add_product("self_attn.v_proj", d, keys, "attention/value");
    add_product("self_attn.o_proj", queries, d, "attention/output");
    add(layer + "post_attention_layernorm.weight", {d}, path + "mlp_norm/scale");
    add_product("mlp.gate_proj", d, hidden, "mlp_gate");
    add_product("mlp.up_proj", d, hidden, "mlp_in");
    add_product("mlp.down_proj", hidden, d, "mlp_out");
  }
  add("norm.weight", {d}, "final_norm/scale");
  if (!shape.tied) add_transposed(std::string(kHeadTensor), {shape.vocab_size, d}, "softmax/w");
  return tensors;
}

bool LlamaLayout::is_constant(std::string_view tensor) const {
  return tensor.starts_with("layers.") && tensor.ends_with(".self_attn.rotary_emb.inv_freq");
}

}  // namespace trivet::lm
