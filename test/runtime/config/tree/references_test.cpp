// SPDX-License-Identifier: Apache-2.0
// "${path}" in configs.
#include "config/tree/references.h"

#include <catch2/catch.hpp>

#include "config/toml/toml_reader.h"
#include "runtime/config/config_fixture.h"

using trivet::ResolvedConfig;
using trivet::test::Configs;
using trivet::test::kGoodConfig;
using trivet::test::text_at;

namespace {

std::string with_xp(const std::string& xp) {
  return std::string(kGoodConfig) + "[xp]\n" + xp;
}

}  // namespace

TEST_CASE("a reference as the whole string is the value, with its type") {
  Configs configs(
      with_xp("steps = '${trainer.train_steps}'\nmodel = '${task.model}'\nsize = "
              "'${task.model.hidden_dims[1]}'\n"
              "a_default = '${trainer.max_to_keep}'\nfar = '${xp.near}'\nnear = '${xp.steps}'\n"));
  const ResolvedConfig config = configs.resolve({"trainer.validation_steps=${xp.far}"});
  CHECK(text_at(config.tree, "xp.steps") == "100");
  CHECK(text_at(config.tree, "xp.model.activation.type") == "\"demo/Relu\"");
  CHECK(text_at(config.tree, "xp.size") == "32");
  CHECK(text_at(config.tree, "xp.a_default") == "5");
  CHECK(text_at(config.tree, "xp.far") == "100");
  CHECK(text_at(config.tree, "trainer.validation_steps") == "100");
  CHECK(configs.origin(config, "xp.steps") == "main.toml:15:9 (${trainer.train_steps})");
}

TEST_CASE("a reference inside a string becomes text, and $${ is not a reference") {
  Configs configs(
      with_xp("a = 'run ${seed}, ${runtime.backend}/${task.model.dropout}'\nb = '$${seed} $$ {x} "
              "${xp.c}'\nc = '$${y}'\n"));
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "xp.a") == "\"run 1, cpu/Highway/0.0\"");
  CHECK(text_at(config.tree, "xp.b") == "\"${seed} $$ {x} ${y}\"");
}

TEST_CASE("a type and a whole part can be references") {
  Configs configs;
  configs.write(
      "main.toml",
      "[task]\ntype = 'demo/Task'\neval_input = '${task.train_input}'\n[task.train_input]\n"
      "type = '${xp.input}'\nbatch_size = 3\n[xp]\ninput = 'demo/Noise'\n");
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "task.eval_input.batch_size") == "3");
  CHECK(text_at(config.tree, "task.eval_input.type") == "\"demo/Noise\"");
  CHECK(text_at(config.tree, "task.train_input.prefetch") == "2");
  CHECK(text_at(config.tree, "task.eval_input.prefetch") == "2");
}

TEST_CASE("bad references are reported with their location and the nearest paths") {
  Configs configs(
      with_xp("a = '${trainer.train_step}'\nb = '${}'\nc = '${seed'\nd = '${a..b}'\n"
              "e = 'x${task}'\n"));
  CHECK(configs.diagnostics({"trainer.max_to_keep=${nowhere}"}) ==
        "main.toml:15:5: xp.a: bad reference: no value at 'trainer.train_step' (did you "
        "mean 'trainer.train_steps'?)\n"
        "main.toml:16:5: xp.b: bad reference: no value at '' (a reference is the whole "
        "path of a value)\n"
        "main.toml:17:5: xp.c: bad reference: '}' is missing (write $${ for a plain ${)\n"
        "main.toml:18:5: xp.d: bad reference: 'a..b' is not a path: a name is missing (a path "
        "looks like a.b[2].c; a name with other characters is quoted)\n"
        "main.toml:19:5: xp.e: bad reference: a table cannot be part of a string\n"
        "command line:1:21 (trainer.max_to_keep=${nowhere}): trainer.max_to_keep: bad reference: "
        "no value at 'nowhere' (a reference is the whole path of a value)\n");
}

TEST_CASE("reference cycles are reported with the chain, once") {
  Configs configs(with_xp("a = '${xp.b}'\nb = 'x ${xp.c}'\nc = '${xp.a}'\nuser = '${xp.a}'\n"));
  CHECK(configs.diagnostics() ==
        "main.toml:15:5: xp.a: reference cycle: xp.a -> xp.b -> xp.c -> xp.a\n");
  configs.write("main.toml", with_xp("a = '${xp.a}'\n"));
  CHECK(configs.diagnostics() == "main.toml:15:5: xp.a: reference cycle: xp.a -> xp.a\n");
  configs.write("main.toml", with_xp("t = {x = 1, y = '${xp.t}'}\n"));
  CHECK(configs.diagnostics() == "main.toml:15:17: xp.t.y: reference cycle: xp.t.y -> xp.t.y\n");
}

TEST_CASE("references that grow without bound are rejected") {
  std::string xp = "v0 = 'xxxxxxxxxx'\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "${xp.v" + std::to_string(i - 1) + "}";
    xp += "v" + std::to_string(i) + " = '" + last + last + "'\n";
  }
  CHECK_THAT(Configs(with_xp(xp)).diagnostics(),
             Catch::Contains("references make this config too large"));
  xp = "v0 = [1, 2]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "'${xp.v" + std::to_string(i - 1) + "}'";
    xp += "v" + std::to_string(i) + " = [" + last + ", " + last + "]\n";
  }
  CHECK_THAT(Configs(with_xp(xp)).diagnostics(),
             Catch::Contains("references make this config too large"));
  xp = "v5000 = 1\n";
  for (int i = 0; i < 5000; ++i) {
    xp += "v" + std::to_string(i) + " = '${xp.v" + std::to_string(i + 1) + "}'\n";
  }
  CHECK_THAT(Configs(with_xp(xp)).diagnostics(),
             Catch::Contains("leads through more than 100 others"));
}

TEST_CASE("escaped text is never read as a reference") {
  for (const char* text : {"${a}", "$${a}", "$$${", "a${b}${c}", "$", "${", "plain"}) {
    trivet::Value tree = trivet::Value::table({{"x", text}});
    trivet::escape_references(tree);
    trivet::Diagnostics diagnostics;
    trivet::resolve_references(tree, {}, diagnostics);
    CHECK(diagnostics.empty());
    CHECK(tree.find("x")->as_string() == text);
  }
}
