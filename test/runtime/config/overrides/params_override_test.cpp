// SPDX-License-Identifier: Apache-2.0
// --params_override: the grammar of Model Garden's params_dict.py, and the locations of its errors.
#include "config/overrides/params_override.h"

#include <catch2/catch.hpp>

#include "runtime/config/config_fixture.h"
#include "trivet/error.h"

using trivet::parse_params_override;
using trivet::ResolvedConfig;
using trivet::toml_number;
using trivet::test::Configs;
using trivet::test::kGoodConfig;
using trivet::test::text_at;

namespace {

// Resolves the valid config with this value of --params_override and these plain overrides.
ResolvedConfig resolved(const std::string& params, const std::vector<std::string>& more = {}) {
  Configs configs(kGoodConfig);
  configs.request.files = {configs.path("main.toml")};
  configs.request.overrides = parse_params_override(params).overrides;
  return configs.resolve(more);
}

std::string diagnostics(const std::string& params) {
  try {
    Configs configs(kGoodConfig);
    configs.request.overrides = parse_params_override(params).overrides;
    return configs.diagnostics();
  } catch (const trivet::ConfigError& error) {
    return to_string(error.diagnostics().front()) + "\n";
  }
}

}  // namespace

TEST_CASE("pairs are parsed like in the original") {
  const ResolvedConfig config = resolved(
      "seed=5, name='x, y',task.model.hidden_dims = [1,2],  trainer.train_steps =7, "
      "task.name=\"Hi.\"");
  CHECK(config.experiment.seed == 5);
  CHECK(config.experiment.name == "x, y");
  CHECK(text_at(config.tree, "task.model.hidden_dims") == "[1, 2]");
  CHECK(text_at(config.tree, "trainer.train_steps") == "7");
  CHECK(text_at(config.tree, "task.name") == "\"Hi.\"");
}

TEST_CASE("numbers may be written as in YAML, and a string field takes them unchanged") {
  for (const auto& [text, value] :
       {std::pair("1e-3", "0.001"), std::pair("-1.e-3", "-0.001"), std::pair("+0.001", "0.001"),
        std::pair("1e+3", "1000.0"), std::pair("-1.5E-3", "-0.0015"), std::pair(".5", "0.5")}) {
    INFO(text);
    const std::string slope = std::string("task.model.activation.slope=") + text;
    CHECK(text_at(resolved(slope).tree, "task.model.activation.slope") == value);
    CHECK(resolved(std::string("name=") + text).experiment.name == text);
  }
  CHECK(toml_number("1.e-3") == "1.0e-3");
  for (const char* text : {"1", "1.5", ".", "1.e", "1.x", "", "-", "1..", "e3"}) {
    INFO(text);
    CHECK(toml_number(text).empty());
  }
}

TEST_CASE("words in lists need no quotes, and True and null have their YAML meaning") {
  const ResolvedConfig config = resolved(
      "task.model.notes=[a, 'b, c', 1.e-3, True, 3, nn/Relu], task.model.limit=null, "
      "task.model.activation=null");
  CHECK(text_at(config.tree, "task.model.notes") ==
        "[\"a\", \"b, c\", 0.001, true, 3, \"nn/Relu\"]");
  CHECK(text_at(config.tree, "task.model.limit") == "\"none\"");
  CHECK(text_at(config.tree, "task.model.activation") == "\"none\"");
}

TEST_CASE("the text may be JSON") {
  const ResolvedConfig config = resolved(
      R"( {"seed": 5, "task": {"model": {"hidden_dims": [1, 2], "limit": null,
           "activation": {"type": "demo/Relu", "slope": 1e-3}}}, "name": "a:b, {c}"} )");
  CHECK(config.experiment.seed == 5);
  CHECK(config.experiment.name == "a:b, {c}");
  CHECK(text_at(config.tree, "task.model.hidden_dims") == "[1, 2]");
  CHECK(text_at(config.tree, "task.model.type") == "\"demo/Mlp\"");
  CHECK(text_at(config.tree, "task.model.activation.slope") == "0.001");
  CHECK(resolved("{}").experiment.seed == 1);
}

TEST_CASE("the text may name a file, and blanks mean nothing") {
  Configs configs;
  configs.write("more.toml", "seed = 9\n");
  const std::string path = configs.path("more.toml").string();
  CHECK(parse_params_override(path).file == path);
  CHECK(parse_params_override(" ").overrides.empty());
  CHECK(parse_params_override("").file.empty());
}

TEST_CASE("single overrides override it, and it overrides the files") {
  const ResolvedConfig config = resolved("seed=2, name=a", {"name=b"});
  CHECK(config.experiment.seed == 2);
  CHECK(config.experiment.name == "b");
}

TEST_CASE("errors in it have their location in the given text") {
  const auto at = [](const std::string& text, const std::string& rest) {
    INFO(text);
    CHECK(diagnostics(text).find("(--params_override=" + text + "): " + rest) != std::string::npos);
    INFO(diagnostics(text));
    return diagnostics(text).substr(0, diagnostics(text).find(' ', 13));
  };
  // Columns count from the start of "--params_override=", 18 characters.
  CHECK(at("seed=1, nmae=x", "nmae: unknown key 'nmae'") == "command line:2:27");
  CHECK(at("seed =  x", "seed: 'x' is not an integer") == "command line:1:27");
  CHECK(at("{\"seed\":   \"x\"}", "seed: expected an integer") == "command line:1:30");
  CHECK(at("a=[[1], 2]", "pairs cannot contain nested lists") == "command line:1:22");
  CHECK(at("a=[1, 2", "']' is missing") == "command line:1:21");
  CHECK(at("a=1]", "this ']' has no '['") == "command line:1:22");
  CHECK(at("a=[1,,2]", "an element is missing") == "command line:1:24");
  CHECK(at("a='x", "this quote is not closed") == "command line:1:21");
  CHECK(at("a='x'y", "unexpected text after the closing quote") == "command line:1:24");
  CHECK(at("a=[1]y", "unexpected text after the list") == "command line:1:24");
  CHECK(at("a=1,,b=2", "a pair is missing") == "command line:1:23");
  CHECK(at("a=1, b", "'=' and a value are missing") == "command line:1:24");
  CHECK(at("=1", "the key before '=' is missing") == "command line:1:19");
  CHECK(at("a={b=1}", "pairs cannot contain tables") == "command line:1:21");
  CHECK(at("{\"a\": }", "the text is not JSON") == "command line:1:25");
  CHECK(at("nothing.toml", "the text is neither") == "command line:1:19");
}
