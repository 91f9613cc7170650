// SPDX-License-Identifier: Apache-2.0
// The Hugging Face layouts at the sizes of published models, on a meta device: names, numbers of
// weights, and recognition of the model of a config.json.
#include <algorithm>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "lm/huggingface/hf_layout.h"
#include "lm/huggingface/hf_match.h"
#include "support/plugins.h"
#include "support/shell.h"

namespace {

using namespace trivet;
using namespace trivet::lm;

DecoderShape shape_of(const std::string& layout, const std::string& config_json) {
  const test::TempDir dir;
  return layout_named(layout).shape(HfConfig(dir.write("config.json", config_json)));
}

struct Published {
  std::string name, layout, config;
  std::size_t tensors;
  std::int64_t numbers;
};

std::string gpt2(int embd, int layers, int heads) {
  return R"({"vocab_size": 50257, "n_positions": 1024, "n_embd": )" + std::to_string(embd) +
         R"(, "n_layer": )" + std::to_string(layers) + R"(, "n_head": )" + std::to_string(heads) +
         "}";
}

// config.json and the sizes on the models' pages on huggingface.co.
const std::vector<Published>& models() {
  static const std::vector<Published> all = {
      {"gpt2", "gpt2", gpt2(768, 12, 12), 148, 124'439'808},
      {"gpt2-medium", "gpt2", gpt2(1024, 24, 16), 292, 354'823'168},
      {"gpt2-large", "gpt2", gpt2(1280, 36, 20), 436, 774'030'080},
      {"gpt2-xl", "gpt2", gpt2(1600, 48, 25), 580, 1'557'611'200},
      {"TinyLlama-1.1B", "llama", R"({"hidden_size": 2048, "intermediate_size": 5632,
        "max_position_embeddings": 2048, "num_attention_heads": 32, "num_hidden_layers": 22,
        "num_key_value_heads": 4, "vocab_size": 32000})",
       201, 1'100'048'384},
      {"Llama-2-7b", "llama", R"({"hidden_size": 4096, "intermediate_size": 11008,
        "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
        "rms_norm_eps": 1e-05, "vocab_size": 32000})",
       291, 6'738'415'616},
      {"Meta-Llama-3-8B", "llama", R"({"hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "rope_theta": 500000.0, "vocab_size": 128256})",
       291, 8'030'261'248},
  };
  return all;
}

LanguageModelConfig model_of(const HfLayout& layout, const DecoderShape& shape) {
  Value fields = layout.model(shape);
  fields.erase("type");
  return decode<LanguageModelConfig>(fields);
}

}  // namespace

TEST_CASE("published models have their published number of weights, and the model's variables") {
  test::use_plugin("nn");
  const auto device = test::open_device("tiny/Backend");
  for (const Published& published : models()) {
    INFO(published.name);
    const HfLayout& layout = layout_named(published.layout);
    const DecoderShape shape = shape_of(published.layout, published.config);
    const std::vector<HfTensor> tensors = layout.tensors(shape);
    CHECK(tensors.size() == published.tensors);
    std::int64_t numbers = 0;
    std::map<std::string, std::int64_t> variables;
    for (const HfTensor& tensor : tensors) {
      numbers += tensor.shape.size();
      for (const std::string& variable : tensor.variables) {
        variables[variable] = tensor.shape.size() / std::ssize(tensor.variables);
      }
    }
    CHECK(numbers == published.numbers);

    ParameterStore store(*device, RngKey(1));
    Scope scope(store);
    const LanguageModel model(model_of(layout, shape), scope);
    std::map<std::string, std::int64_t> own;
    for (const auto& parameter : store.parameters()) {
      own[parameter->path()] = parameter->shape().size();
    }
    CHECK(own == variables);
    CHECK(matching_shape(model_of(layout, shape), layout, *device) == shape);
  }
}

TEST_CASE("tensors have the names of transformers' modules") {
  const auto names = [](const std::string& layout, const std::string& config) {
    std::map<std::string, std::string> shapes;
    for (const auto& tensor : layout_named(layout).tensors(shape_of(layout, config))) {
      shapes[tensor.name] = tensor.shape.to_string();
    }
    return shapes;
  };
  using Names = std::map<std::string, std::string>;
  CHECK(names("gpt2", R"({"vocab_size": 7, "n_positions": 5, "n_embd": 4, "n_layer": 1,
                          "n_head": 2, "n_inner": 6})") ==
        Names{{"wte.weight", "[7, 4]"},
              {"wpe.weight", "[5, 4]"},
              {"h.0.ln_1.weight", "[4]"},
              {"h.0.ln_1.bias", "[4]"},
              {"h.0.attn.c_attn.weight", "[4, 12]"},
              {"h.0.attn.c_attn.bias", "[12]"},
              {"h.0.attn.c_proj.weight", "[4, 4]"},
              {"h.0.attn.c_proj.bias", "[4]"},
              {"h.0.ln_2.weight", "[4]"},
              {"h.0.ln_2.bias", "[4]"},
              {"h.0.mlp.c_fc.weight", "[4, 6]"},
              {"h.0.mlp.c_fc.bias", "[6]"},
              {"h.0.mlp.c_proj.weight", "[6, 4]"},
              {"h.0.mlp.c_proj.bias", "[4]"},
              {"ln_f.weight", "[4]"},
              {"ln_f.bias", "[4]"}});
  CHECK(names("llama", R"({"vocab_size": 7, "hidden_size": 8, "intermediate_size": 6,
                           "num_hidden_layers": 1, "num_attention_heads": 4,
                           "num_key_value_heads": 2})") ==
        Names{{"embed_tokens.weight", "[7, 8]"},
              {"layers.0.input_layernorm.weight", "[8]"},
              {"layers.0.self_attn.q_proj.weight", "[8, 8]"},
              {"layers.0.self_attn.k_proj.weight", "[4, 8]"},
              {"layers.0.self_attn.v_proj.weight", "[4, 8]"},
              {"layers.0.self_attn.o_proj.weight", "[8, 8]"},
              {"layers.0.post_attention_layernorm.weight", "[8]"},
              {"layers.0.mlp.gate_proj.weight", "[6, 8]"},
              {"layers.0.mlp.up_proj.weight", "[6, 8]"},
              {"layers.0.mlp.down_proj.weight", "[8, 6]"},
              {"norm.weight", "[8]"},
              {"lm_head.weight", "[7, 8]"}});
}

TEST_CASE("a model is recognized for any form of its config") {
  test::use_plugin("nn");
  const auto device = test::open_device("tiny/Backend");
  const DecoderShape shape = shape_of("llama", R"({"vocab_size": 7, "hidden_size": 8,
      "intermediate_size": 6, "num_hidden_layers": 2, "num_attention_heads": 2,
      "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "max_position_embeddings": 9})");
  LanguageModelConfig config;
  config.vocab_size = 7;
  config.model_dims = 8;
  config.num_layers = 2;
  config.num_heads = 2;
  config.max_seq_len = 9;
  config.final_norm_tpl = {"nn/RmsNorm", Value::table({{"epsilon", 1e-5}})};
  // The block as the stack's own, the epsilon as the block's, the rest as the attention's.
  Value attention = Value::table({{"type", "nn/MultiHeadAttention"},
                                  {"use_rotary_position_emb", true},
                                  {"rotary_dims", 4},
                                  {"dims_per_head", 4},
                                  {"num_kv_heads", 2},
                                  {"atten_dropout", 0.1}});
  Value block = Value::table({{"type", "nn/TransformerBlock"},
                              {"hidden_dims", 6},
                              {"use_gated_activation", true},
                              {"activation", "nn/Silu"},
                              {"has_bias", false},
                              {"norm_tpl", "nn/RmsNorm"},
                              {"norm_epsilon", 1e-5},
                              {"residual_dropout", 0.2},
                              {"attention_tpl", std::move(attention)}});
  config.stacked_transformer_tpl = {
      "nn/StackedTransformer", Value::table({{"transformer_layer_params_tpl", std::move(block)},
                                             {"checkpoint_policy", "save_nothing"}})};
  CHECK(matching_shape(config, layout_named("llama"), *device) == shape);
}
