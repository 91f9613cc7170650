// SPDX-License-Identifier: Apache-2.0
// Starting from other weights: rules, ignored variables, partial loading, and the report.
#include "trivet/train/init_checkpoint.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/config/enums.h"
#include "trivet/data/quantized_weights.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Sizes = std::map<std::string, std::int64_t>;

// A model with these variables of the given sizes, all 0.
class Store {
 public:
  explicit Store(const std::vector<std::pair<std::string, std::int64_t>>& variables)
      : device_(test::open_device("tiny/Backend")), store_(*device_, RngKey(1)) {
    for (const auto& [path, size] : variables) {
      store_.add(path, {size}, {.init = {Init::constant, 0}});
    }
    store_.build();
  }
  ParameterStore& get() { return store_; }
  // The first number of a variable.
  float operator[](const std::string& path) {
    return store_.find(path)->value().to_host<float>()[0];
  }

 private:
  std::unique_ptr<Device> device_;
  ParameterStore store_;
};

// A file in which the n-th variable, counted from 1, holds n.
fs::path file_with(const test::TempDir& temp,
                   const std::vector<std::pair<std::string, std::int64_t>>& variables) {
  std::vector<std::vector<float>> values;
  values.reserve(variables.size());
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, size] : variables) {
    values.emplace_back(static_cast<std::size_t>(size), static_cast<float>(values.size() + 1));
    entries.push_back({name, DType::f32, {size}, std::as_bytes(std::span(values.back()))});
  }
  const fs::path file = temp / "model.safetensors";
  write_safetensors(file, entries);
  return file;
}

std::string statuses(const LoadReport& report) {
  std::string text;
  for (const auto& entry : report.entries) {
    text += entry.variable + ":" + std::string(enum_name(entry.status)) + " ";
  }
  return text;
}

std::string error_of(Store& store, const fs::path& file, const InitLoadConfig& config) {
  try {
    load_weights(store.get(), file, config);
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a rule renames full matches of its pattern, and the first rule counts") {
  test::TempDir temp;
  const auto file = file_with(temp, {{"backbone/0/w", 2}, {"backbone/1/w", 2}, {"other", 2}});
  Store store({{"encoder/0/w", 2}, {"encoder/1/w", 2}, {"other", 2}});
  const LoadReport report = load_weights(
      store.get(), file,
      {.rules = {{"encoder/1/(.*)", "backbone/0/$1"}, {"encoder/(.*)/w", "backbone/$1/w"}},
       .ignore = {}});
  CHECK(store["encoder/0/w"] == 1);
  CHECK(store["encoder/1/w"] == 1);  // by the first rule, not the second
  CHECK(store["other"] == 3);        // no rule: its own name
  CHECK(statuses(report) == "encoder/0/w:loaded encoder/1/w:loaded other:loaded ");
  CHECK(report.unused == std::vector<std::string>{"backbone/1/w"});
  CHECK_THAT(report.text(), Contains("loaded  encoder/0/w [2] from backbone/0/w"));
}

TEST_CASE("a pattern that matches only part of a path has no effect") {
  test::TempDir temp;
  const auto file = file_with(temp, {{"encoder/w", 2}});
  Store store({{"encoder/w", 2}});
  CHECK_THAT(error_of(store, file, {.rules = {{"encoder", "x"}}, .ignore = {}}),
             Contains("'encoder' matches no variable") && Contains("task.init_load.rules"));
  CHECK_THAT(error_of(store, file, {.rules = {}, .ignore = {"w"}}),
             Contains("'w' matches no variable") && Contains("task.init_load.ignore"));
  CHECK(store["encoder/w"] == 0);
}

TEST_CASE("quantized weights are loaded as scale times integer") {
  test::TempDir temp;
  const std::vector<float> values = {1, -1, 0.25F, 0.5F, 0, 4};
  const QuantizedWeights weights = quantize_weights(values, {3, 2}, 8, ScaleAxis::columns);
  const auto scales = std::as_bytes(std::span(weights.scales));
  const std::vector<SafetensorsEntry> entries = {
      {"old/w", weights.dtype, weights.shape, weights.integers},
      {"old/w_quantized_scale", DType::f32, weights.scale_shape, scales}};
  const fs::path file = temp / "model.safetensors";
  write_safetensors(file, entries);
  const auto device = test::open_device("tiny/Backend");
  ParameterStore store(*device, RngKey(1));
  store.add("w", {3, 2}, {.init = {Init::constant, 0}});
  store.build();
  const InitLoadConfig config{.rules = {{"w", "old/w"}}, .ignore = {}};
  const LoadReport report = load_weights(store, file, config);
  CHECK(report.unused.empty());
  const std::vector<float> integers = {127, -32, 32, 16, 0, 127};
  std::vector<float> want;
  for (std::size_t i = 0; i < 6; ++i) want.push_back(weights.scales[i % 2] * integers[i]);
  CHECK(store.find("w")->value().to_host<float>() == want);

  write_safetensors(file, std::span(entries).first(1));
  CHECK_THROWS_WITH(load_weights(store, file, config),
                    Contains("i8 [3, 2] found, without old/w_quantized_scale"));
  fs::resize_file(file, fs::file_size(file) - 1);
  CHECK_THROWS_WITH(load_weights(store, file, config), Contains("the file is cut or damaged"));
}

TEST_CASE("ignored variables keep their initial values for any file contents") {
  test::TempDir temp;
  const auto file = file_with(temp, {{"body/w", 2}, {"head/w", 10}});
  Store store({{"body/w", 2}, {"head/w", 3}, {"head/b", 3}});
  const LoadReport report = load_weights(store.get(), file, {.rules = {}, .ignore = {"head/.*"}});
  CHECK(store["body/w"] == 1);
  CHECK(store["head/w"] == 0);
  CHECK(statuses(report) == "body/w:loaded head/w:ignored head/b:ignored ");
  CHECK_THAT(report.summary(), Contains("1 of 3 variables from") && Contains("2 ignored") &&
                                   Contains("1 of the file unused"));
}

TEST_CASE("missing variables and other shapes are one error that lists every variable") {
  test::TempDir temp;
  const auto file = file_with(temp, {{"body/w", 2}, {"haed/w", 3}, {"out", 10}});
  Store store({{"body/w", 2}, {"head/w", 3}, {"out", 4}});
  const std::string text = error_of(store, file, {});
  CHECK_THAT(text, Contains("loaded  body/w [2]"));
  CHECK_THAT(text, Contains("missing  head/w [3]; did you mean 'haed/w'?"));
  CHECK_THAT(text, Contains("differs  out [4]; f32 [4] wanted, f32 [10] found"));
  CHECK(store["body/w"] == 0);  // nothing was changed

  const LoadReport report =
      load_weights(store.get(), file, {.rules = {}, .ignore = {}, .partial = true});
  CHECK(statuses(report) == "body/w:loaded head/w:missing out:differs ");
  CHECK(store["body/w"] == 1);
  CHECK(store["out"] == 0);
}

TEST_CASE("moving averages replace their weights") {
  const test::TempDir temp;
  file_with(temp, {{"a", 2}, {"b", 2}});
  const std::vector<float> average(2, 7.0F);
  const SafetensorsEntry entry{"a", DType::f32, {2}, std::as_bytes(std::span(average))};
  write_safetensors(temp / "ema.safetensors", {&entry, 1});
  temp.write("manifest.json", R"({"step": 30})");
  const auto loaded = [&](const fs::path& path, const InitLoadConfig& config) {
    Store store({{"a", 2}, {"b", 2}});
    const LoadReport report = load_weights(store.get(), path, config);
    CHECK(report.step == 30);
    return report.averages * 100 + static_cast<std::size_t>(store["a"] * 10 + store["b"]);
  };
  CHECK(loaded(temp.path(), {}) == 172);
  CHECK(loaded(temp.path(), {.rules = {}, .ignore = {}, .averages = false}) == 12);
  CHECK(loaded(temp.path(), {.rules = {}, .ignore = {}, .averages = true}) == 172);
  // A file name selects that file.
  CHECK(loaded(temp / "model.safetensors", {}) == 12);
  // Before the first update there is no average.
  temp.write("state.json", R"({"trainer": {"updates": 0}})");
  CHECK(loaded(temp.path(), {}) == 12);
  Store store({{"a", 2}, {"b", 2}});
  CHECK_THAT(error_of(store, temp.path(), {.rules = {}, .ignore = {}, .averages = true}),
             Contains("has no moving averages"));
}

TEST_CASE("a variable is loaded from the first source that has it, by that source's rules") {
  const test::TempDir first, second, third;
  file_with(first, {{"body/w", 2}, {"old", 1}});
  file_with(second, {{"x", 1}, {"body/w", 2}, {"net/text", 3}});
  file_with(third, {{"net/text", 9}, {"a", 1}, {"b", 1}, {"head", 4}});
  Store store({{"body/w", 2}, {"text", 3}, {"head", 4}, {"new", 1}});
  InitLoadConfig config{.rules = {}, .ignore = {"new"}};
  for (const auto* dir : {&second, &third}) {
    InitSourceConfig source;
    source.checkpoint = dir->path().string();
    source.rules = {{"text", "net/text"}};
    config.sources.push_back(source);
  }
  const LoadReport report = load_weights(store.get(), first.path(), config);
  CHECK(store["body/w"] == 1);  // the first source has it
  CHECK(store["text"] == 3);
  CHECK(store["head"] == 4);
  CHECK(store["new"] == 0);
  CHECK(report.entries[1].file == (second / "model.safetensors").string());
  CHECK_THAT(report.summary(), Contains("3 of 4 variables from " + first.path().string()) &&
                                   Contains("and (1) " + second.path().string()) &&
                                   Contains("and (1) " + third.path().string()));
  CHECK_THAT(report.text(),
             Contains("loaded  text [3] from net/text in " + second.path().string()));

  // A shape that differs is an error, and later sources are not searched for another.
  Store other({{"body/w", 3}, {"text", 3}, {"head", 4}, {"new", 1}});
  CHECK_THAT(error_of(other, first.path(), config), Contains("differs  body/w [3]"));
  config.sources[1].rules = {{"txt", "text"}};
  CHECK_THAT(error_of(store, first.path(), config),
             Contains("task.init_load.sources[1].rules") && Contains("'txt' matches no variable"));
}

TEST_CASE("a step selects a checkpoint of a run, also of its best ones") {
  const test::TempDir run;
  for (const char* folder :
       {"checkpoints/step_00000010", "checkpoints/step_00000020", "best/step_00000005"}) {
    fs::create_directories(run / folder);
  }
  const test::TempDir temp;
  const auto put = [&](const std::string& folder, std::size_t variables) {
    std::vector<std::pair<std::string, std::int64_t>> list;
    for (std::size_t i = 1; i < variables; ++i) list.emplace_back("v" + std::to_string(i), 1);
    list.emplace_back("w", 1);
    fs::copy_file(file_with(temp, list), run / folder / "model.safetensors");
  };
  put("checkpoints/step_00000010", 1);
  put("checkpoints/step_00000020", 2);
  put("best/step_00000005", 3);
  const auto loaded = [&](std::optional<std::int64_t> step) {
    Store store({{"w", 1}});
    load_weights(store.get(), run.path(), {.rules = {}, .ignore = {}, .step = step});
    return store["w"];
  };
  CHECK(loaded({}) == 2);
  CHECK(loaded(10) == 1);
  CHECK(loaded(5) == 3);
  Store store({{"w", 1}});
  CHECK_THAT(error_of(store, run.path(), {.rules = {}, .ignore = {}, .step = 11}),
             Contains("no checkpoint of step 11") && Contains("task.init_load.step"));
  CHECK_THAT(error_of(store, run / "best/step_00000005", {.rules = {}, .ignore = {}, .step = 5}),
             Contains("is one checkpoint, not a directory of several"));
}

TEST_CASE("two variables may start from one") {
  test::TempDir temp;
  const auto file = file_with(temp, {{"w", 2}});
  Store store({{"left/w", 2}, {"right/w", 2}});
  load_weights(store.get(), file, {.rules = {{".*/w", "w"}}, .ignore = {}});
  CHECK(store["left/w"] == 1);
  CHECK(store["right/w"] == 1);
}

TEST_CASE("an invalid regular expression is a mistake in the config") {
  const Value config =
      Value::table({{"ignore", Value::array({"head/("})},
                    {"rules", Value::array({Value::table({{"pattern", "[a"}, {"name", "b"}})})}});
  try {
    decode<InitLoadConfig>(config, "task.init_load");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    REQUIRE(error.diagnostics().size() == 2);
    CHECK_THAT(error.what(), Contains("task.init_load.rules: '[a' is not a regular expression"));
    CHECK_THAT(error.what(), Contains("task.init_load.ignore: 'head/(' is not a regular"));
  }
}
