// SPDX-License-Identifier: Apache-2.0
// trivet import and export through the program: models in the published layouts compute the
// published formulas and are exported unchanged.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "hf_models.h"
#include "program/run/run_fixture.h"
#include "support/layer_fixture.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/model.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/init_checkpoint.h"

namespace import_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

namespace {

const Ids kIds = {5, 60, 0, 17, 17, 33, 8, 1, 42, 2, 59, 11};

ShellResult import_model(const fs::path& from, const fs::path& to, const std::string& more = {}) {
  return test::trivet("import " + quoted(from.string()) + " -o " + quoted(to.string()) + " " +
                      more);
}

ShellResult export_model(const fs::path& run, const fs::path& to, const std::string& more = {}) {
  return test::trivet("export " + quoted(run.string()) + " -o " + quoted(to.string()) + " " + more);
}

void require_success(const ShellResult& result) {
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
}

// The logits of an imported run's model for the ids, [T * V].
std::vector<float> logits_of(const fs::path& run, const Ids& ids) {
  const ShellResult shown =
      test::trivet("config show --format json " + quoted((run / "config.toml").string()));
  require_success(shown);
  Value fields = *value_from_json(shown.output, "config").find_path("task.model");
  for (const char* plugin : {"lm", "nn"}) use_plugin(plugin);
  fields.erase("type");
  const auto device = open_device("tiny/Backend");
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  const auto model = make(ConfigOf<Model>("lm/LanguageModel", fields), scope);
  store.build();
  const LoadReport report = load_weights(store, run);
  CHECK(report.unused.empty());
  FpropContext context;
  const auto length = static_cast<std::int64_t>(ids.size());
  return model->fprop({{"ids", Tensor::from<std::int32_t>(*device, ids, {1, length})}}, context)
      .at("logits")
      .to_host<float>();
}

// Exports, imports and exports again; the first export's folder.
fs::path check_round_trip(const TempDir& dir, const fs::path& run) {
  require_success(export_model(run, dir / "first"));
  require_success(import_model(dir / "first", dir / "again"));
  require_success(export_model(dir / "again", dir / "second"));
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(dir / "first")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(read_file(entry.path()) == read_file(dir / "second" / name));
    ++files;
  }
  CHECK(files >= 2);
  return dir / "first";
}

// All tensors are unchanged, and there are no others.
void check_tensors(const fs::path& folder, const PublishedModel& model) {
  const auto written = read_safetensors(folder / "model.safetensors");
  CHECK(written.size() == model.tensors.size());
  for (const auto& [name, tensor] : model.tensors) {
    INFO(name);
    REQUIRE(written.contains(name));
    CHECK(written.at(name).shape == tensor.shape);
    CHECK(written.at(name).values == tensor.values);
  }
}

// Every exported field is unchanged, or new.
void check_config(const fs::path& folder, const PublishedModel& model) {
  const Json written = json_of(folder / "config.json");
  for (const auto& [name, value] : written.items()) {
    if (name.ends_with("_token_id") || !model.config.contains(name)) continue;
    INFO(name);
    CHECK(value == model.config.at(name));
  }
}

}  // namespace

TEST_CASE("an imported GPT-2 computes the published formula and is exported unchanged") {
  const TempDir dir;
  const PublishedModel model = small_gpt2();
  write_model(model, dir / "gpt2");
  require_success(import_model(dir / "gpt2", dir / "run"));
  CHECK(largest_error(logits_of(dir / "run", kIds), gpt2_logits(model, kIds)) < 1e-5);
  const fs::path out = check_round_trip(dir, dir / "run");
  check_tensors(out, model);
  check_config(out, model);
}

TEST_CASE("an imported Llama computes the published formula and is exported unchanged") {
  const TempDir dir;
  const bool tied = GENERATE(true, false);
  const PublishedModel model = small_llama(tied);
  write_model(model, dir / "llama");
  require_success(import_model(dir / "llama", dir / "run"));
  CHECK(largest_error(logits_of(dir / "run", kIds), llama_logits(model, kIds)) < 1e-5);
  const fs::path out = check_round_trip(dir, dir / "run");
  check_tensors(out, model);
  check_config(out, model);
}

TEST_CASE("names without a prefix, constants, a tied head and 16-bit numbers are read") {
  const TempDir dir;
  PublishedModel model = small_gpt2();
  model.round_to(GENERATE("F16", "BF16"));
  PublishedModel old = model;
  old.tensors.clear();
  for (const auto& [name, tensor] : model.tensors) {
    old.tensors[name.substr(std::string("transformer.").size())] = tensor;
  }
  // Additional tensors in files from before 2023.
  old.tensors["h.0.attn.bias"] = {"BOOL", {1, 1, 20, 20}, std::vector<float>(400, 1.0F)};
  old.tensors["h.1.attn.masked_bias"] = {"F32", {}, {-1e4F}};
  old.tensors["lm_head.weight"] = old.tensors.at("wte.weight");
  write_model(old, dir / "gpt2");
  require_success(import_model(dir / "gpt2" / "model.safetensors", dir / "run"));
  CHECK(largest_error(logits_of(dir / "run", kIds), gpt2_logits(model, kIds)) < 1e-5);
  require_success(export_model(dir / "run", dir / "out"));
  check_tensors(dir / "out", model);
}

TEST_CASE("heads of another depth, biases and other activations can be imported and exported") {
  const TempDir dir;
  PublishedModel model = small_llama(false);
  SECTION("a depth that is not hidden_size / heads") {
    model.config["head_dim"] = 10;
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      model.add(layer + "self_attn.q_proj.weight", {40, 24});
      model.add(layer + "self_attn.k_proj.weight", {20, 24});
      model.add(layer + "self_attn.v_proj.weight", {20, 24});
      model.add(layer + "self_attn.o_proj.weight", {24, 40});
    }
    write_model(model, dir / "llama");
    require_success(import_model(dir / "llama", dir / "run"));
    CHECK(largest_error(logits_of(dir / "run", kIds), llama_logits(model, kIds)) < 1e-5);
  }
  SECTION("the fields of transformers 5") {
    model.config.erase("rope_theta");
    model.config["rope_parameters"] = {{"rope_theta", 5000.0}, {"rope_type", "default"}};
    write_model(model, dir / "llama");
    require_success(import_model(dir / "llama", dir / "run"));
    model.config["rope_theta"] = 5000.0;
    CHECK(largest_error(logits_of(dir / "run", kIds), llama_logits(model, kIds)) < 1e-5);
  }
  SECTION("biases and gelu") {
    model.config.update({{"attention_bias", true}, {"mlp_bias", true}, {"hidden_act", "gelu"}});
    for (const auto& [name, tensor] : small_llama(true).tensors) {
      if (!name.ends_with("_proj.weight")) continue;
      model.add(name.substr(0, name.size() - 6) + "bias", {tensor.shape[0]});
    }
    write_model(model, dir / "llama");
    require_success(import_model(dir / "llama", dir / "run"));
  }
  const fs::path out = check_round_trip(dir, dir / "run");
  check_tensors(out, model);
  check_config(out, model);
}

TEST_CASE("a model in several files is combined") {
  const TempDir dir;
  const PublishedModel model = small_llama(false);
  std::map<std::string, StoredTensor> parts[2];
  Json map = Json::object();
  for (const auto& [name, tensor] : model.tensors) {
    const std::size_t part = name < "model.layers.1" ? 0 : 1;
    parts[part][name] = tensor;
    map[name] = part == 0 ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  }
  const auto write = [&] {
    dir.write("llama/config.json", model.config.dump());
    dir.write("llama/model-00001-of-00002.safetensors", safetensors_bytes(parts[0]));
    dir.write("llama/model-00002-of-00002.safetensors", safetensors_bytes(parts[1]));
    dir.write("llama/model.safetensors.index.json",
              Json({{"metadata", {{"total_size", 1}}}, {"weight_map", map}}).dump());
  };
  const auto check_refused = [&](const std::string& why) {
    write();
    const ShellResult bad = import_model(dir / "llama", dir / "run");
    INFO(bad.output);
    CHECK(bad.exit_code == 2);
    CHECK_THAT(bad.output, Contains(why));
    CHECK_FALSE(fs::exists(dir / "run"));
  };
  SECTION("as it is") {
    write();
    require_success(import_model(dir / "llama", dir / "run"));
    CHECK(largest_error(logits_of(dir / "run", kIds), llama_logits(model, kIds)) < 1e-5);
  }
  SECTION("a tensor that the index does not name") {
    map.erase("model.norm.weight");
    check_refused("model.norm.weight, which");
  }
  SECTION("a tensor that is in the other file") {
    map["model.norm.weight"] = "model-00001-of-00002.safetensors";
    check_refused("model-00001-of-00002.safetensors has no model.norm.weight");
  }
  SECTION("a file that is not there") {
    map["model.norm.weight"] = "model-00003-of-00002.safetensors";
    check_refused("model-00003-of-00002.safetensors");
  }
  SECTION("a file elsewhere") {
    map["model.norm.weight"] = "../model.safetensors";
    check_refused("not a file next to it");
  }
  SECTION("no map") {
    map = Json::array();
    check_refused("weight_map");
  }
}

TEST_CASE("an imported run continues texts, is trained further and exported with its tokenizer",
          "[slow]") {
  const TempDir dir;
  PublishedModel model = small_gpt2(270);
  for (const char* id : {"bos_token_id", "eos_token_id"}) model.config[id] = 0;
  write_model(model, dir / "gpt2");
  const std::string corpus = quoted("/usr/share/common-licenses/Artistic");
  const std::string tokenizer = quoted((dir / "gpt2").string());
  require_success(test::trivet("tokenizer train --vocab-size 270 --special '<|endoftext|>' -o " +
                               quoted((dir / "gpt2" / "tokenizer.json").string()) + " " + corpus));
  require_success(import_model(dir / "gpt2", dir / "run"));
  const fs::path run = dir / "run";

  // The most likely token of the formula, repeatedly.
  const ShellResult prompt = test::trivet("tokenizer encode " + tokenizer + " 'You may'");
  Ids ids;
  std::istringstream words(prompt.output);
  for (std::int32_t id = 0; words >> id;) ids.push_back(id);
  REQUIRE(ids.size() >= 2);
  for (int i = 0; i < 5; ++i) {
    const std::vector<double> logits = gpt2_logits(model, ids);
    const auto last = logits.end() - 270;
    ids.push_back(static_cast<std::int32_t>(std::max_element(last, logits.end()) - last));
  }
  std::string text;
  for (const std::int32_t id : ids) text += " " + std::to_string(id);
  const ShellResult wanted = test::trivet("tokenizer decode " + tokenizer + text);
  const ShellResult said =
      test::trivet("generate " + quoted(run.string()) + " 'You may' -t 0 -n 5");
  require_success(said);
  CHECK(said.output == wanted.output);

  // The run contains the tokenizer, so it can be moved.
  fs::rename(run, dir / "elsewhere");
  CHECK(test::trivet("generate " + quoted((dir / "elsewhere").string()) + " 'You may' -t 0 -n 5")
            .output == wanted.output);
  fs::rename(dir / "elsewhere", run);

  const fs::path out = check_round_trip(dir, run);
  CHECK(read_file(out / "tokenizer.json") == read_file(dir / "gpt2" / "tokenizer.json"));
  CHECK(json_of(out / "config.json").at("eos_token_id") == model.config.at("eos_token_id"));

  dir.write("tune.toml", "base = [\"run/config.toml\"]\n[task]\ninit_checkpoint = \"" +
                             run.string() +
                             "\"\n[task.train_input]\ntype = \"data/Text\"\nfiles = "
                             "[\"/usr/share/common-licenses/Artistic\"]\nseq_len = 16\n"
                             "batch_size = 2\n[trainer]\ntrain_steps = 1\nlearning_rate = 0.0\n"
                             "optimizer = \"optim/Sgd\"\n");
  require_success(test::run(dir / "tune.toml", dir / "tuned", "mode=train"));
  require_success(export_model(dir / "tuned", dir / "same"));
  CHECK(read_file(dir / "same" / "model.safetensors") == read_file(out / "model.safetensors"));

  // The commands of the page, with other paths and sizes.
  const std::string page = read_file(source_root() / "docs" / "language-models.md");
  const std::size_t begin = page.find("base = [\"runs/gpt2/config.toml\"]");
  REQUIRE(begin != std::string::npos);
  std::string config = page.substr(begin, page.find("```", begin) - begin);
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = config.find(what, at)) != std::string::npos; at += by.size()) {
      config.replace(at, what.size(), by);
    }
  };
  replace("runs/gpt2", run.string());
  replace("books/*.txt", "/usr/share/common-licenses/Artistic");
  replace("seq_len = 256", "seq_len = 16");
  replace("train_steps = 1000", "train_steps = 1");
  dir.write("page.toml", config);
  require_success(test::run(dir / "page.toml", dir / "page"));
}

TEST_CASE("prompts start with a start token if the published files require it") {
  const TempDir dir;
  PublishedModel model = small_llama(true, 262);
  const std::int64_t vocabulary = model.config.at("vocab_size");
  for (const char* id : {"bos_token_id", "eos_token_id"}) model.config[id] = 0;
  write_model(model, dir / "llama");
  const fs::path tokenizer = dir / "llama" / "tokenizer.json";
  dir.write("corpus.txt", "ab ab cd");
  require_success(test::trivet("tokenizer train --vocab-size " + std::to_string(vocabulary) +
                               " --special '<s>' -o " + quoted(tokenizer.string()) + " " +
                               quoted((dir / "corpus.txt").string())));
  const auto begins = [&] {
    fs::remove_all(dir / "run");
    require_success(import_model(dir / "llama", dir / "run"));
    const std::string config = read_file(dir / "run" / "config.toml");
    return config.find("add_bos = true") != std::string::npos;
  };
  Json json = Json::parse(read_file(tokenizer));
  CHECK_FALSE(begins());  // its post-processor adds nothing
  json["post_processor"] = Json::parse(R"({"type": "Sequence", "processors": [{"type": "ByteLevel",
      "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
      {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
       {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
       "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}}]})");
  dir.write("llama/tokenizer.json", json.dump());
  CHECK(begins());
  dir.write("llama/tokenizer_config.json", R"({"add_bos_token": false})");
  CHECK_FALSE(begins());
  dir.write("llama/tokenizer_config.json", R"({"add_bos_token": true})");
  CHECK(begins());
  // The import gives the same.
  fs::remove_all(dir / "out");
  require_success(export_model(dir / "run", dir / "out"));
  CHECK(json_of(dir / "out" / "tokenizer_config.json").at("add_bos_token") == true);
}

}  // namespace import_test
