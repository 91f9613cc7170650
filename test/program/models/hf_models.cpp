// SPDX-License-Identifier: Apache-2.0
#include "hf_models.h"

#include <fstream>
#include <random>

#include "trivet/backend/half.h"

namespace trivet::test {

void PublishedModel::add(const std::string& name, const std::vector<std::int64_t>& shape,
                         double mean) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  std::mt19937 bits(static_cast<unsigned>(tensors.size()) + 1);
  std::uniform_real_distribution<float> draw(-0.4F, 0.4F);
  StoredTensor tensor{"F32", shape, {}};
  for (std::size_t i = 0; i < count; ++i) {
    tensor.values.push_back(static_cast<float>(mean) + draw(bits));
  }
  tensors[name] = std::move(tensor);
}

void PublishedModel::round_to(const std::string& dtype) {
  for (auto& [name, tensor] : tensors) {
    tensor.dtype = dtype;
    for (float& value : tensor.values) {
      value = dtype == "F16" ? float_from_f16(f16_from_float(value))
                             : float_from_bf16(bf16_from_float(value));
    }
  }
}

PublishedModel small_gpt2(std::int64_t vocab_size) {
  PublishedModel model;
  // The fields of GPT2Config that define the model.
  model.config = {{"activation_function", "gelu_new"},
                  {"architectures", {"GPT2LMHeadModel"}},
                  {"bos_token_id", vocab_size - 1},
                  {"eos_token_id", vocab_size - 1},
                  {"layer_norm_epsilon", 1e-05},
                  {"model_type", "gpt2"},
                  {"n_ctx", 20},
                  {"n_embd", 24},
                  {"n_head", 3},
                  {"n_inner", nullptr},
                  {"n_layer", 2},
                  {"n_positions", 20},
                  {"resid_pdrop", 0.1},
                  {"scale_attn_weights", true},
                  {"summary_type", "cls_index"},
                  {"vocab_size", vocab_size}};
  model.add("transformer.wte.weight", {vocab_size, 24});
  model.add("transformer.wpe.weight", {20, 24});
  for (const std::string h : {"transformer.h.0.", "transformer.h.1."}) {
    for (const std::string norm : {"ln_1", "ln_2"}) {
      model.add(h + norm + ".weight", {24}, 1);
      model.add(h + norm + ".bias", {24});
    }
    const auto product = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      model.add(h + name + ".weight", {in, out});
      model.add(h + name + ".bias", {out});
    };
    product("attn.c_attn", 24, 72);
    product("attn.c_proj", 24, 24);
    product("mlp.c_fc", 24, 96);
    product("mlp.c_proj", 96, 24);
  }
  model.add("transformer.ln_f.weight", {24}, 1);
  model.add("transformer.ln_f.bias", {24});
  return model;
}

PublishedModel small_llama(bool tied, std::int64_t vocab_size) {
  PublishedModel model;
  model.config = {{"architectures", {"LlamaForCausalLM"}},
                  {"bos_token_id", 1},
                  {"eos_token_id", 2},
                  {"hidden_act", "silu"},
                  {"hidden_size", 24},
                  {"intermediate_size", 40},
                  {"max_position_embeddings", 32},
                  {"model_type", "llama"},
                  {"num_attention_heads", 4},
                  {"num_hidden_layers", 2},
                  {"num_key_value_heads", 2},
                  {"rms_norm_eps", 1e-05},
                  {"rope_scaling", nullptr},
                  {"rope_theta", 5000.0},
                  {"tie_word_embeddings", tied},
                  {"vocab_size", vocab_size}};
  model.add("model.embed_tokens.weight", {vocab_size, 24});
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    model.add(layer + "input_layernorm.weight", {24}, 1);
    model.add(layer + "self_attn.q_proj.weight", {24, 24});
    model.add(layer + "self_attn.k_proj.weight", {12, 24});
    model.add(layer + "self_attn.v_proj.weight", {12, 24});
    model.add(layer + "self_attn.o_proj.weight", {24, 24});
    model.add(layer + "post_attention_layernorm.weight", {24}, 1);
    model.add(layer + "mlp.gate_proj.weight", {40, 24});
    model.add(layer + "mlp.up_proj.weight", {40, 24});
    model.add(layer + "mlp.down_proj.weight", {24, 40});
  }
  model.add("model.norm.weight", {24}, 1);
  if (!tied) model.add("lm_head.weight", {vocab_size, 24});
  return model;
}

std::string safetensors_bytes(const std::map<std::string, StoredTensor>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    for (const float value : tensor.values) {
      if (tensor.dtype == "F32") {
        data.append(reinterpret_cast<const char*>(&value), sizeof value);
      } else if (tensor.dtype == "BOOL") {
        data += value != 0 ? '\1' : '\0';
      } else {
        const std::uint16_t bits =
            tensor.dtype == "F16" ? f16_from_float(value) : bf16_from_float(value);
        data.append(reinterpret_cast<const char*>(&bits), sizeof bits);
      }
    }
    header[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 255U);
  return bytes + text + data;
}

void write_model(const PublishedModel& model, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << model.config.dump(2);
  std::ofstream(folder / "model.safetensors", std::ios::binary) << safetensors_bytes(model.tensors);
}

}  // namespace trivet::test
