// SPDX-License-Identifier: Apache-2.0
// Field names are those of transformers' GPT2Config.
#include "lm/huggingface/gpt2_layout.h"

#include <utility>

#include "lm/huggingface/hf_parts.h"

namespace trivet::lm {
DecoderShape Gpt2Layout::shape(const HfConfig& config) const {
  config.require("scale_attn_weights", true);
  config.require("scale_attn_by_inverse_layer_idx", false);
  config.require("add_cross_attention", false);
  DecoderShape shape;
  shape.vocab_size = config.size("vocab_size");
  shape.model_dims = config.size("n_embd");
  shape.hidden_dims = config.size("n_inner", 4 * shape.model_dims);
  shape.num_layers = config.layers("n_layer");
  shape.num_heads = config.size("n_head");
  shape.num_kv_heads = shape.num_heads;
  if (shape.model_dims % shape.num_heads != 0) {
    config.refuse("n_head",
                  "is " + std::to_string(shape.num_heads) +
                      ", which does not divide n_embd = " + std::to_string(shape.model_dims));
  }
  shape.dims_per_head = shape.model_dims / shape.num_heads;
  shape.max_seq_len = config.size("n_positions");
  shape.norm_epsilon = config.number("layer_norm_epsilon", 1e-5);
  shape.activation = activation_in(config, "activation_function", "gelu_new");
  shape.tied = config.flag("tie_word_embeddings", true);
  return shape;
}

Value Gpt2Layout::config(const DecoderShape& shape, const SpecialTokenIds& ids) const {
  const bool usual = shape.hidden_dims == 4 * shape.model_dims;
  return Value::table({{"activation_function", shape.activation},
                       {"architectures", Value::array({"GPT2LMHeadModel"})},
                       {"bos_token_id", id_or_null(ids.bos)},
                       {"eos_token_id", id_or_null(ids.eos)},
                       {"layer_norm_epsilon", shape.norm_epsilon},
                       {"model_type", name()},
                       {"n_embd", shape.model_dims},
                       {"n_head", shape.num_heads},
                       {"n_inner", usual ? Value() : Value(shape.hidden_dims)},
                       {"n_layer", shape.num_layers},
                       {"n_positions", shape.max_seq_len},
                       {"tie_word_embeddings", shape.tied},
                       {"torch_dtype", "float32"},
                       {"vocab_size", shape.vocab_size}});
}

Value Gpt2Layout::model(const DecoderShape& shape) const {
  Value model = decoder_model(shape, "nn/LayerNorm", Value::table());
  model.set("position_emb_tpl", Value::table({{"type", "nn/TrainablePositionalEmbedding"},
                                              {"max_seq_length", shape.max_seq_len}}));
  return model;
}

std::vector<HfTensor> Gpt2Layout::tensors(const DecoderShape& shape) const {
  const std::int64_t d = shape.model_dims, hidden = shape.hidden_dims;
  std::vector<HfTensor> tensors;
  const auto add = [&](std::string name, const Shape& extents, std::vector<std::string> variables) {
    tensors.push_back({std::move(name), extents, std::move(variables)});
  };
  const auto add_norm = [&](const std::string& name, const std::string& path) {
    add(name + ".weight", {d}, {path + "/scale"});
    add(name + ".bias", {d}, {path + "/bias"});
  };
  add("wte.weight", {shape.vocab_size, d}, {shape.tied ? "softmax/table" : "embedding/table"});
  add("wpe.weight", {shape.max_seq_len, d}, {"position_emb/table"});
  for (std::int64_t i = 0; i < shape.num_layers; ++i) {
    const std::string h = "h." + std::to_string(i) + ".", path = block_path(i);
    const auto add_product = [&](const char* name, std::int64_t in, std::int64_t out,
                                 const std::vector<std::string>& layers) {
      std::vector<std::string> weights, biases;
      for (const std::string& layer : layers) {
        weights.push_back(path + layer + "/w");
        biases.push_back(path + layer + "/b");
      }
      add(h + name + ".weight", {in, out}, weights);
      add(h + name + ".bias", {out}, biases);
    };
    add_norm(h + "ln_1", path + "attention_norm");
    add_product("attn.c_attn", d, 3 * d, {"attention/query", "attention/key", "attention/value"});
    add_product("attn.c_proj", d, d, {"attention/output"});
    add_norm(h + "ln_2", path + "mlp_norm");
    add_product("mlp.c_fc", d, hidden, {"mlp_in"});
    add_product("mlp.c_proj", hidden, d, {"mlp_out"});
  }
  add_norm("ln_f", "final_norm");
  if (!shape.tied) {
    add(std::string(kHeadTensor), {shape.vocab_size, d}, {"softmax/w"});
    tensors.back().transposed = true;
  }
  return tensors;
}

// The causal attention mask, and the number that replaces minus infinity in it.
bool Gpt2Layout::is_constant(std::string_view tensor) const {
  return tensor.starts_with("h.") &&
         (tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias"));
}

}  // namespace trivet::lm
