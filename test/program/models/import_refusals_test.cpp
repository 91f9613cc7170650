// SPDX-License-Identifier: Apache-2.0
// Inputs that trivet import and export reject, and their messages.
#include <filesystem>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "hf_models.h"
#include "program/run/run_fixture.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

ShellResult import_model(const TempDir& dir, const std::string& words) {
  return trivet::test::trivet("import " + words + " -o " + quoted((dir / "run").string()));
}

// Exits with 2 and a reason, and leaves nothing behind.
void check_refused(const TempDir& dir, const std::string& words, const std::string& why) {
  const ShellResult bad = import_model(dir, words);
  INFO(bad.output);
  CHECK(bad.exit_code == 2);
  CHECK_THAT(bad.output, Contains(why));
  CHECK_FALSE(fs::exists(dir / "run"));
}

}  // namespace

TEST_CASE("tensors that do not fit config.json are named") {
  struct Row {
    std::function<void(PublishedModel&)> change;
    std::string why;
  };
  const std::vector<Row> rows = {
      {[](auto& m) { m.tensors.erase("transformer.h.1.ln_2.bias"); },
       "h.1.ln_2.bias f32 [24] is missing"},
      {[](auto& m) { m.add("transformer.h.2.ln_1.bias", {24}); },
       "transformer.h.2.ln_1.bias f32 [24] has no variable in the model"},
      {[](auto& m) {
         m.add("transformer.h.0.attn.c_attn.weight", {72, 24});
       },
       "transformer.h.0.attn.c_attn.weight f32 [72, 24]: [24, 72] was expected, the transpose"},
      {[](auto& m) {
         m.add("transformer.wpe.weight", {16, 24});
       },
       "transformer.wpe.weight f32 [16, 24]: [20, 24] was expected by config.json"},
      {[](auto& m) { m.tensors.at("transformer.ln_f.bias").dtype = "BOOL"; },
       "transformer.ln_f.bias bool [24]: expected f32, bf16 or f16"},
      {[](auto& m) {
         m.add("wte.weight", {61, 24});
       },
       "occurs twice"},
      {[](auto& m) {
         m.add("lm_head.weight", {61, 24});
       },
       "differs from the embedding"},
      {[](auto& m) { m.config["n_embd"] = 48; }, "and 8 more"},
      {[](auto& m) { m.config["n_layer"] = 3; }, "h.2.attn.c_attn.weight"},
  };
  for (const Row& row : rows) {
    const TempDir dir;
    PublishedModel model = small_gpt2();
    row.change(model);
    write_model(model, dir / "gpt2");
    check_refused(dir, quoted((dir / "gpt2").string()), row.why);
  }
}

TEST_CASE("an invalid config.json, or one of another model, is rejected by its field") {
  using Json = nlohmann::json;
  const auto check = [](PublishedModel model, const Json& change, const std::string& why) {
    const TempDir dir;
    for (const auto& [name, value] : change.items()) {
      model.config[name] = value;
      if (value == "none") model.config.erase(name);
    }
    write_model(model, dir / "model");
    check_refused(dir, quoted((dir / "model").string()), why);
  };
  const PublishedModel gpt2 = small_gpt2(), llama = small_llama(true);
  check(gpt2, {{"model_type", "bert"}}, "supported: gpt2, llama");
  check(gpt2, {{"model_type", "none"}}, "\"model_type\" is missing");
  check(gpt2, {{"n_layer", "none"}}, "\"n_layer\" is missing");
  check(gpt2, {{"n_layer", 0}}, "\"n_layer\" is 0, not an integer of at least 1");
  check(gpt2, {{"n_layer", 2000000}}, "more than 100000");
  check(gpt2, {{"n_embd", 1e300}}, "\"n_embd\"");
  check(gpt2, {{"n_head", 5}}, "\"n_head\" is 5, which does not divide n_embd = 24");
  check(gpt2, {{"vocab_size", "many"}}, "\"vocab_size\" is \"many\"");
  check(gpt2, {{"layer_norm_epsilon", -1.0}}, "\"layer_norm_epsilon\" is -1");
  check(gpt2, {{"activation_function", "mish"}}, "\"mish\", which is not supported");
  check(gpt2, {{"scale_attn_by_inverse_layer_idx", true}}, "only false is supported");
  check(gpt2, {{"tie_word_embeddings", "yes"}}, "not true or false");
  check(llama, {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}}}, "scaled positions");
  check(llama, {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}}, "scaled positions");
  check(llama, {{"attention_bias", true}}, "\"mlp_bias\" must equal attention_bias");
  check(llama, {{"num_key_value_heads", 3}}, "does not divide num_attention_heads = 4");
  check(llama, {{"head_dim", 7}}, "\"head_dim\" is odd");
}

TEST_CASE("damaged and missing files are rejected") {
  const TempDir dir;
  write_model(small_gpt2(), dir / "gpt2");
  const std::string gpt2 = quoted((dir / "gpt2").string());
  const fs::path weights = dir / "gpt2" / "model.safetensors";
  SECTION("cut off") {
    fs::resize_file(weights, fs::file_size(weights) - 10);
    check_refused(dir, gpt2, "model.safetensors");
    fs::resize_file(weights, 100);
    check_refused(dir, gpt2, "the header is said to have");
    fs::resize_file(weights, 0);
    check_refused(dir, gpt2, "model.safetensors");
  }
  SECTION("no weights") {
    fs::remove(weights);
    check_refused(dir, gpt2, "has no model.safetensors");
    dir.write("gpt2/pytorch_model.bin", "");
    check_refused(dir, gpt2, "safe_serialization=True");
  }
  SECTION("no config.json, or none that can be read") {
    dir.write("gpt2/config.json", "[1]");
    check_refused(dir, gpt2, "expected an object");
    dir.write("gpt2/config.json", "{\"model_type\": ");
    check_refused(dir, gpt2, "config.json");
    dir.write("gpt2/config.json", "\xff\xfe");
    check_refused(dir, gpt2, "config.json");
    fs::remove(dir / "gpt2" / "config.json");
    check_refused(dir, gpt2, "config.json");
  }
  SECTION("a tokenizer that is none, or has too many tokens") {
    dir.write("gpt2/tokenizer.json", "{}");
    check_refused(dir, gpt2, "--no-tokenizer");
    CHECK(import_model(dir, gpt2 + " --no-tokenizer").exit_code == 0);
    fs::remove_all(dir / "run");
    REQUIRE(trivet::test::trivet("tokenizer train --vocab-size 270 -o " +
                                 quoted((dir / "gpt2" / "tokenizer.json").string()) +
                                 " /usr/share/common-licenses/Artistic")
                .exit_code == 0);
    check_refused(dir, gpt2, "has 270 tokens, and \"vocab_size\" of config.json is 61");
  }
  SECTION("words") {
    check_refused(dir, "", "takes a model");
    check_refused(dir, gpt2 + " " + gpt2, "takes a model");
    check_refused(dir, "/no/such/model", "there is no model '/no/such/model'");
    check_refused(dir, gpt2 + " --formt x", "--formt");
    CHECK(trivet::test::trivet("import " + gpt2).exit_code == 2);
    dir.write("run/mine.txt", "mine");
    CHECK_THAT(import_model(dir, gpt2).output, Contains("exists already"));
    CHECK(read_file(dir / "run" / "mine.txt") == "mine");
    CHECK_THAT(trivet::test::trivet("import --help").output, Contains("usage: trivet import"));
    CHECK_THAT(trivet::test::trivet("export --help").output, Contains("usage: trivet export"));
  }
}

TEST_CASE("a model that a layout cannot express is rejected by its field", "[slow]") {
  const TempDir dir;
  write_model(small_gpt2(), dir / "gpt2");
  write_model(small_llama(true), dir / "llama");
  for (const char* name : {"gpt2", "llama"}) {
    REQUIRE(trivet::test::trivet("import " + quoted((dir / name).string()) + " -o " +
                                 quoted((dir / (std::string(name) + "_run")).string()))
                .exit_code == 0);
  }
  const auto check = [&](const std::string& run, const std::string& words, const std::string& why) {
    const ShellResult bad = trivet::test::trivet("export " + quoted((dir / run).string()) + " " +
                                                 words + " -o " + quoted((dir / "out").string()));
    INFO(words << "\n" << bad.output);
    CHECK(bad.exit_code == 2);
    CHECK_THAT(bad.output, Contains(why));
    CHECK_FALSE(fs::exists(dir / "out"));
  };
  const std::string block = "--set task.model.block_tpl.";
  check("gpt2_run", "--format llama", "the layout 'llama'");
  check("llama_run", "--format gpt2", "the layout 'gpt2'");
  check("gpt2_run", "--format bert", "supported: gpt2, llama");
  check("gpt2_run", block + "norm_policy=post", "norm_policy of the layer 'transformer/layer_0'");
  check("gpt2_run", block + "norm_tpl.epsilon=0.1",
        "epsilon of the layer 'transformer/layer_0/attention_norm' (nn/LayerNorm) is 0.1, and "
        "there it is 1e-05");
  check("gpt2_run", block + "attention_tpl.window=4",
        "window of the layer 'transformer/layer_0/attention' (nn/MultiHeadAttention) is 4");
  check("gpt2_run", block + "attention_tpl.use_rotary_position_emb=true",
        "use_rotary_position_emb of the layer 'transformer/layer_0/attention'");
  check("gpt2_run", "--set task.model.softmax_tpl.soft_cap_logits=30", "soft_cap_logits");
  check("gpt2_run", "--set task.model.model_type=prefix", "model_type is not \"causal\"");
  check("llama_run", block + "attention_tpl.rotary_dims=4", "rotary_dims");
  check("llama_run", "--set task.model.max_seq_len=0", "max_seq_len is 0");
  check("llama_run", block + "activation.type=nn/Mish", "nn/Mish");
  check("nothing", "", "no run is named");
  CHECK(trivet::test::trivet("export " + quoted((dir / "gpt2_run").string())).exit_code == 2);
  // Fields that only matter for training may have any value.
  const ShellResult good = trivet::test::trivet(
      "export " + quoted((dir / "gpt2_run").string()) + " " + block + "dropout=0.1 --set " +
      "task.model.softmax_tpl.z_loss_weight=0.1 -o " + quoted((dir / "out").string()));
  INFO(good.output);
  CHECK(good.exit_code == 0);
}
