// SPDX-License-Identifier: Apache-2.0
// Overrides on the command line: parsing of values, their locations, errors and carets.
#include <catch2/catch.hpp>

#include "config/overrides/apply_overrides.h"
#include "runtime/config/config_fixture.h"

using trivet::ConfigError;
using trivet::Diagnostic;
using trivet::ResolvedConfig;
using trivet::test::Configs;
using trivet::test::kGoodConfig;
using trivet::test::text_at;

TEST_CASE("the type of the field decides how an override is read") {
  struct Row {
    const char* text;
    const char* path;
    const char* value;
  };
  const Row row = GENERATE(
      Row{"name=a b=c", "name", "\"a b=c\""}, Row{"name=12", "name", "\"12\""},
      Row{"name=", "name", "\"\""}, Row{"name=\"q\\tr\"", "name", "\"q\\tr\""},
      Row{"name='q'", "name", "\"q\""}, Row{"name='a'b", "name", "\"'a'b\""},
      Row{"name=[1]", "name", "\"[1]\""}, Row{"seed=-5", "seed", "-5"},
      Row{"seed=1_000", "seed", "1000"}, Row{"mode=eval", "mode", "\"eval\""},
      Row{"task.model.dropout=0.5", "task.model.dropout", "0.5"},
      Row{"task.model.dropout=0", "task.model.dropout", "0"},
      Row{"task.model.dropout=1e-3", "task.model.dropout", "0.001"},
      Row{"task.model.hidden_dims=[1, 2]", "task.model.hidden_dims", "[1, 2]"},
      Row{"task.model.hidden_dims[1]=9", "task.model.hidden_dims", "[64, 9]"},
      Row{"task.model.parts.sizes[0]=9", "task.model.parts.sizes", "[9, 5]"},
      Row{"task.model.shape=square", "task.model.shape", "\"square\""},
      Row{"task.model.patience=1h30m", "task.model.patience", "\"1h30m\""},
      Row{"task.model.patience=90", "task.model.patience", "90"},
      Row{"task.model.vocabulary=/a b/c", "task.model.vocabulary", "\"/a b/c\""},
      Row{"task.model.vocabulary=null", "task.model.vocabulary", "\"\""},
      Row{"task.init_checkpoint=None", "task.init_checkpoint", "\"\""},
      Row{"task.init_checkpoint=none", "task.init_checkpoint", "\"\""},
      Row{"task.init_checkpoint='null'", "task.init_checkpoint", "\"null\""},
      Row{"task.model.limit=4", "task.model.limit", "4"},
      Row{"task.model.limit=none", "task.model.limit", "\"none\""},
      Row{"task.model.weights={a = 1.5}", "task.model.weights", "{a = 1.5}"},
      Row{"task.model.parts={label = 'x'}", "task.model.parts", "{label = \"x\", sizes = [3, 5]}"},
      Row{"task.model.notes=7", "task.model.notes", "7"},
      Row{"task.model.notes=plain words", "task.model.notes", "\"plain words\""},
      Row{"task.model.activation=demo/Linear", "task.model.activation.type", "\"demo/Linear\""},
      Row{"task.model.activation={type = 'demo/Relu', slope = 2}", "task.model.activation.slope",
          "2"},
      Row{"trainer.learning_rate=0.25", "trainer.learning_rate.value", "0.25"},
      Row{"trainer.optimizer.momentum=0.5", "trainer.optimizer.momentum", "0.5"},
      Row{"runtime.backend=tiny/Backend", "runtime.backend", "\"tiny/Backend\""},
      Row{"+task.model.weights.a=0.5", "task.model.weights.a", "0.5"},
      Row{"xp.a.b=1", "xp.a.b", "1"}, Row{"xp.a=x y", "xp.a", "\"x y\""},
      Row{"trainer.max_to_keep=${seed}", "trainer.max_to_keep", "1"},
      Row{"name=${trainer.train_steps} steps", "name", "\"100 steps\""});
  CAPTURE(row.text);
  Configs configs(kGoodConfig);
  std::vector<std::string> overrides{row.text};
  if (std::string_view(row.text).find("=demo/Linear") != std::string_view::npos) {
    overrides.push_back("task.model.activation.dims=3");
  }
  CHECK(text_at(configs.resolve(overrides).tree, row.path) == row.value);
}

TEST_CASE("an override has its origin, down to the column") {
  Configs configs(kGoodConfig);
  const ResolvedConfig config =
      configs.resolve({"seed=2", "trainer.optimizer={type = 'demo/Sgd', momentum = 0.5}"});
  CHECK(configs.origin(config, "seed") == "command line:1:6 (seed=2)");
  const trivet::Origin origin = config.tree.find_path("trainer.optimizer.momentum")->origin();
  CHECK(origin.file == trivet::kCommandLine);
  CHECK(origin.line == 2);
  CHECK(origin.column == 50);
}

TEST_CASE("a type set by an override replaces the table") {
  Configs configs(kGoodConfig);
  CHECK(text_at(configs.resolve({"task.model=demo/Stack"}).tree, "task.model") ==
        "{type = \"demo/Stack\", layers = []}");
  CHECK(text_at(configs.resolve({"task.model.type=demo/Stack"}).tree, "task.model") ==
        "{type = \"demo/Stack\", layers = []}");
  CHECK(text_at(configs.resolve({"task.model.type=demo/Mlp"}).tree, "task.model.hidden_dims") ==
        "[64, 32]");
  const ResolvedConfig config = configs.resolve(
      {"trainer.learning_rate.type=demo/Cosine", "trainer.learning_rate.decay_steps=5"});
  CHECK(text_at(config.tree, "trainer.learning_rate") ==
        "{type = \"demo/Cosine\", peak = 0.1, decay_steps = 5}");
}

TEST_CASE("globs change every location they match, and only those") {
  Configs configs;
  configs.write("main.toml",
                "[task]\ntype = 'demo/Task'\nmodel = {type = 'demo/Stack', layers = [{type = "
                "'demo/Linear', dims = 1}, 'demo/Relu', {type = 'demo/Residual', body = {type = "
                "'demo/Linear', dims = 2}}]}\ntrain_input = 'demo/Noise'\neval_input = "
                "'demo/Noise'\n");
  const std::vector<std::string> sizes{"task.*_input.batch_size=8"};
  const auto with = [&](const std::string& text) { return configs.resolve({sizes[0], text}).tree; };
  CHECK(text_at(with("**.dropout=0.5"), "task.model.layers[0].dropout") == "0.5");
  CHECK(text_at(with("**.dropout=0.5"), "task.model.layers[2].body.dropout") == "0.5");
  CHECK(text_at(with("task.model.layers[*].dropout=0.5"), "task.model.layers[0].dropout") == "0.5");
  CHECK(text_at(with("task.model.layers[*].dropout=0.5"), "task.model.layers[2].body.dropout") ==
        "0.0");
  CHECK(text_at(with("*.eval*.seed=3"), "task.eval_input.seed") == "3");
  CHECK(text_at(with("*.eval*.seed=3"), "task.train_input.seed") == "0");
  CHECK(text_at(with("*.eval*.seed=3"), "seed") == "0");
  CHECK(text_at(with("**.seed=3"), "seed") == "3");
  CHECK_THAT(configs.diagnostics({sizes[0], "**.droput=1"}),
             Catch::Contains("command line:2:1 (**.droput=1): this matches nothing in the config "
                             "(did you mean 'dropout'?)"));
}

TEST_CASE("a negative index counts from the end of a list") {
  Configs configs(kGoodConfig);
  const auto sizes = [&](const std::string& text) {
    return text_at(configs.resolve({text}).tree, "task.model.parts.sizes");
  };
  CHECK(sizes("task.model.parts.sizes[-1]=9") == "[3, 9]");
  CHECK(sizes("task.model.parts.sizes[-2]=9") == "[9, 5]");
  CHECK_THAT(configs.diagnostics({"~task.model.parts.sizes[-1]"}),
             Catch::Contains("task.model.parts.sizes[1]: nothing to remove"));
  CHECK_THAT(configs.diagnostics({"task.model.parts.sizes[-3]=9"}),
             Catch::Contains("this matches nothing in the config"));
}

TEST_CASE("an override with ~ removes a value and so restores its default") {
  Configs configs(kGoodConfig);
  CHECK(text_at(configs.resolve({"~trainer.train_steps"}).tree, "trainer.train_steps") == "0");
  CHECK(text_at(configs.resolve({"~task.model.hidden_dims[0]"}).tree, "task.model.hidden_dims") ==
        "[32]");
  CHECK_THAT(configs.diagnostics({"+xp.a=1", "~xp.a"}),
             Catch::Contains("xp.a: the override has no effect: '~xp.a' removes it"));
  CHECK_THAT(configs.diagnostics({"~trainer.max_to_keep"}), Catch::Contains("this is the default"));
  CHECK_THAT(
      configs.diagnostics({"~trainer.max_to_kept"}),
      Catch::Contains(
          "command line:1:10 (~trainer.max_to_kept): trainer.max_to_kept: nothing to remove"));
}

TEST_CASE("a wrong override is reported with its location") {
  struct Row {
    const char* text;
    const char* expected;  // after "command line:1:"
  };
  const Row row = GENERATE(
      Row{"seed", "5 (seed): bad override: '=' and a value are missing"},
      Row{"=1", "1 (=1): bad override: the path before '=' is missing"},
      Row{"a..b=1", "3 (a..b=1): bad override: a name is missing"},
      Row{".a=1", "1 (.a=1): bad override: a name is missing"},
      Row{"a.=1", "3 (a.=1): bad override: a name is missing"},
      Row{"a[=1", "2 (a[=1): bad override: ']' is missing"},
      Row{"a[x]=1", "3 (a[x]=1): bad override: brackets contain the index of an element"},
      Row{"a[-0]=1", "3 (a[-0]=1): bad override: brackets contain"},
      Row{"a[--1]=1", "3 (a[--1]=1): bad override: brackets contain"},
      Row{"[0]=1", "1 ([0]=1): bad override: a path starts with a name"},
      Row{"\"a=1", "1 (\"a=1): bad override: this quote is not closed"},
      Row{"a b=1", "2 (a b=1): bad override: expected '.', '[' or '=' here"},
      Row{"~seed=1", "6 (~seed=1): bad override: ~ removes a value and takes no '='"},
      Row{"task.**=1", "6 (task.**=1): bad override: a path cannot end with **"},
      Row{"base=x", "1 (base=x): 'base' cannot be an override"},
      Row{"experiment=x", "1 (experiment=x): 'experiment' cannot be an override"},
      Row{"seed=abc", "6 (seed=abc): seed: 'abc' is not an integer (write an integer)"},
      Row{"seed=1 2", "6 (seed=1 2): seed: '1 2' is not an integer"},
      Row{"seed=1\nname=2", "6 (seed=1"},
      Row{"seed=1.5", "6 (seed=1.5): seed: expected an integer"},
      Row{"task.model.dropout=x",
          "20 (task.model.dropout=x): task.model.dropout: 'x' is not a number (write a number "
          "such as 0.5"},
      Row{"task.model.dropout=1.5",
          "20 (task.model.dropout=1.5): task.model.dropout: must be in [0, 1), found 1.5"},
      Row{"task.model.hidden_dims=3",
          "24 (task.model.hidden_dims=3): task.model.hidden_dims: expected an array"},
      Row{"task.model.hidden_dims=a,b",
          "24 (task.model.hidden_dims=a,b): task.model.hidden_dims: 'a,b' is not a list"},
      Row{"task.model.hidden_dims[2]=3",
          "23 (task.model.hidden_dims[2]=3): task.model.hidden_dims[2]: the list has 2 elements"},
      Row{"task.model.dropout[0]=3",
          "19 (task.model.dropout[0]=3): task.model.dropout[0]: 'task.model.dropout' is not a "
          "list"},
      Row{"seed.x=3", "6 (seed.x=3): seed.x: 'seed' is an integer and has no keys"},
      Row{"task.model.shape=oval",
          "18 (task.model.shape=oval): task.model.shape: 'oval' is not one"},
      Row{"trainer.optmizer.momentum=1",
          "9 (trainer.optmizer.momentum=1): trainer.optmizer: unknown key 'optmizer' (did you mean "
          "'optimizer'?)"},
      Row{"batch_size=1",
          "1 (batch_size=1): batch_size: unknown key 'batch_size' (it is in the wrong table: "
          "'batch_size' belongs to [task.train_input]"},
      Row{"task.model.weights.a=1",
          "20 (task.model.weights.a=1): task.model.weights.a: this free table has no key 'a' "
          "(write +task.model.weights.a=... to add it)"},
      Row{"task.model=demo/Mlpp", "12 (task.model=demo/Mlpp): task.model: there is no model"},
      Row{"\xFF=1", "1 (\xFF=1): bad override: the text is not UTF-8"},
      Row{"name=\xFF", "6 (name=\xFF): bad override: the text is not UTF-8"});
  CAPTURE(row.text);
  Configs configs(kGoodConfig);
  CHECK_THAT(configs.diagnostics({row.text}),
             Catch::StartsWith(std::string("command line:1:") + row.expected));
}

TEST_CASE("a path with more parts than a config can have is rejected at the first excess part") {
  Configs configs(kGoodConfig);
  std::string path = "a";
  while (path.size() < 399) path += ".a";  // 200 parts
  CHECK_THAT(configs.diagnostics({path + "=1"}), !Catch::Contains("bad override"));
  CHECK_THAT(configs.diagnostics({path + ".a=1"}),
             Catch::StartsWith("command line:1:401 ") &&
                 Catch::Contains("bad override: more than 200 parts (no config is that deep)"));
  CHECK_THAT(configs.diagnostics({"a" + std::string(200'000, '.') + "=1"}),
             Catch::Contains("missing"));
  for (int i = 0; i < 8; ++i) path += "." + path;  // 51,200 parts
  CHECK_THAT(configs.diagnostics({path + "=1"}), Catch::Contains("more than 200 parts"));
}

TEST_CASE("all wrong overrides are reported at once") {
  Configs configs(kGoodConfig);
  const std::string text = configs.diagnostics({"seed=x", "nam=1", "trainer"});
  CHECK(text ==
        "command line:1:6 (seed=x): seed: 'x' is not an integer (write an integer)\n"
        "command line:2:1 (nam=1): nam: unknown key 'nam' (did you mean 'name'?)\n"
        "command line:3:8 (trainer): bad override: '=' and a value are missing (an override looks "
        "like a.b=value)\n");
}

TEST_CASE("the location in an override refers to the user's text") {
  Configs configs(kGoodConfig);
  configs.request.files = {configs.path("main.toml")};
  configs.request.overrides = {{"seed=x", "--cfg.seed=x", 6}};
  CHECK_THAT(configs.diagnostics(), Catch::StartsWith("command line:1:12 (--cfg.seed=x): seed: "));
}
