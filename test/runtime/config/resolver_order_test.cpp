// SPDX-License-Identifier: Apache-2.0
// Overrides of one source: their order does not matter, and each has an effect.
#include <algorithm>

#include <catch2/catch.hpp>

#include "config/overrides/params_override.h"
#include "config_fixture.h"
#include "launch/plan/unit_config.h"

namespace trivet::test::config_order {
namespace {

// The value at this path if both orders give the same; the first error if both are rejected.
std::string either_way(const std::vector<std::string>& words, const std::string& path,
                       const char* config = kGoodConfig) {
  Configs configs(config);
  std::vector<std::string> backward(words.rbegin(), words.rend());
  const std::string diagnostics = configs.diagnostics(words);
  CHECK((diagnostics == "no problem") == (configs.diagnostics(backward) == "no problem"));
  if (diagnostics != "no problem") return diagnostics.substr(0, diagnostics.find('\n'));
  const Value tree = configs.resolve(words).tree;
  CHECK(tree == configs.resolve(backward).tree);
  return text_at(tree, path);
}

}  // namespace

TEST_CASE("a type is set before its fields, in any order") {
  CHECK(either_way({"task.model.activation.dims=3", "task.model.activation=demo/Linear"},
                   "task.model.activation.dims") == "3");
  CHECK(either_way({"task.model.activation.dims=3", "task.model.activation.type=demo/Linear"},
                   "task.model.activation.dims") == "3");
  CHECK(either_way({"trainer.learning_rate.decay_steps=5",
                    "trainer.learning_rate={type = 'demo/Cosine', peak = 0.5}"},
                   "trainer.learning_rate") ==
        "{type = \"demo/Cosine\", peak = 0.5, decay_steps = 5}");
  CHECK(either_way({"task.model.hidden_dims[1]=5", "task.model.hidden_dims=[1, 2]"},
                   "task.model.hidden_dims") == "[1, 5]");
  CHECK(either_way(
            {"trainer.learning_rate={decay_steps = 5}", "trainer.learning_rate.type=demo/Cosine"},
            "trainer.learning_rate") == "{type = \"demo/Cosine\", peak = 0.1, decay_steps = 5}");
}

TEST_CASE("an override without effect is rejected with the override that replaced it") {
  CHECK(either_way({"seed=1", "seed=2"}, "seed") ==
        "command line:1:1 (seed=1): seed: the override has no effect: 'seed=2' replaces it (remove "
        "one of "
        "them)");
  CHECK(either_way({"seed=2", "seed=2"}, "seed") == "2");
  CHECK_THAT(either_way({"trainer.optimizer=none", "trainer.optimizer.momentum=0.5"}, ""),
             Catch::Contains("trainer.optimizer: the override has no effect: "
                             "'trainer.optimizer.momentum=0.5' replaces it"));
  CHECK_THAT(either_way({"task.model=demo/Stack", "task.model.type=demo/Mlp"}, ""),
             Catch::Contains("task.model: the override has no effect"));
  CHECK_THAT(either_way({"task.model.parts={label = 'a'}", "task.model.parts={sizes = [1]}"}, ""),
             Catch::Contains("task.model.parts: the override has no effect"));
  // A type and a table without one, with or without a type in the files.
  const char* const bare =
      "task = {type = 'demo/Task', model = 'demo/Mlp', train_input = {type = 'demo/Noise', "
      "batch_size = 2}}\ntrainer = {train_steps = 10}\n";
  for (const char* config : {static_cast<const char*>(kGoodConfig), bare}) {
    CHECK_THAT(either_way({"trainer.optimizer=demo/Sgd", "trainer.optimizer={momentum = 0.2}"}, "",
                          config),
               Catch::Contains("trainer.optimizer: ") && Catch::Contains("(remove one of them)"));
  }
  CHECK(either_way({"trainer.optimizer=demo/Sgd", "trainer.optimizer={type = 'demo/Sgd'}"},
                   "trainer.optimizer.type") == "\"demo/Sgd\"");
  CHECK_THAT(either_way({"task.model.hidden_dims[0]=5", "~task.model.hidden_dims[0]"}, ""),
             Catch::Contains("'~task.model.hidden_dims[0]' removes it"));
  // An error below a replaced part is still an error.
  CHECK_THAT(either_way({"trainer.optimizer.nonsense=0.5", "trainer.optimizer=demo/Sgd"}, ""),
             Catch::Contains("unknown key 'nonsense'"));
}

TEST_CASE("globs apply to fields that no override names, for all types that others set") {
  CHECK(either_way({"**.dropout=0.5", "task.model.dropout=0.25", "task.model.activation.dims=2",
                    "task.model.activation=demo/Linear"},
                   "task.model.dropout") == "0.25");
  CHECK(either_way({"**.dropout=0.5", "task.model.dropout=0.25", "task.model.activation.dims=2",
                    "task.model.activation=demo/Linear"},
                   "task.model.activation.dropout") == "0.5");
  CHECK(either_way({"**.dims=2", "**.activation=demo/Linear"}, "task.model.activation.dims") ==
        "2");
  CHECK_THAT(either_way({"**.momentum=0.5", "trainer.optimizer.momentum=0.25"}, ""),
             Catch::Contains("other overrides name every location that it matches"));
}

TEST_CASE("elements are removed by their indices in the given list") {
  CHECK(either_way({"~task.model.hidden_dims[0]", "~task.model.hidden_dims[1]"},
                   "task.model.hidden_dims") == "[]");
  CHECK(either_way({"~task.model.hidden_dims[0]", "task.model.hidden_dims[1]=7"},
                   "task.model.hidden_dims") == "[7]");
}

TEST_CASE("the short form of the same type keeps its table") {
  Configs configs;
  configs.write("low.toml", std::string(kGoodConfig) + "[task.model.activation]\nslope = 0.5\n");
  configs.write("main.toml", "base = ['low.toml']\n[task.model]\nactivation = 'demo/Relu'\n");
  CHECK(text_at(configs.resolve().tree, "task.model.activation.slope") == "0.5");
  CHECK(text_at(configs.resolve({"task.model.activation=demo/Relu"}).tree,
                "task.model.activation.slope") == "0.5");
  CHECK(text_at(configs.resolve({"task.model=demo/Mlp"}).tree, "task.model.hidden_dims") ==
        "[64, 32]");
  CHECK(text_at(configs.resolve({"trainer.learning_rate=0.25"}).tree, "trainer.learning_rate") ==
        "{type = \"demo/Constant\", value = 0.25}");
}

TEST_CASE("a table in one word replaces the part, but keeps the type unless it names one") {
  Configs configs(std::string(kGoodConfig) + "[task.model.activation]\nslope = 0.5\n");
  const auto with = [&](const std::string& word) { return configs.resolve({word}).tree; };
  CHECK(text_at(with("task.model={dropout = 0.5}"), "task.model.hidden_dims") == "[128]");
  CHECK(text_at(with("task.model={dropout = 0.5}"), "task.model.type") == "\"demo/Mlp\"");
  CHECK(text_at(with("task.model.parts={label = 'x'}"), "task.model.parts.sizes") == "[3, 5]");
  CHECK(text_at(with("+xp.a={b = 1}"), "xp.a") == "{b = 1}");
}

TEST_CASE("JSON of --params_override merges, and its keys may be paths") {
  const auto with = [](const std::string& json) {
    Configs configs(kGoodConfig);
    configs.request.overrides = parse_params_override(json).overrides;
    return configs.diagnostics() == "no problem" ? to_toml(configs.resolve().tree)
                                                 : configs.diagnostics();
  };
  CHECK_THAT(with(R"({"task": {"model": {"dropout": 0.5}}})"),
             Catch::Contains("hidden_dims = [64, 32]") && Catch::Contains("dropout = 0.5"));
  CHECK_THAT(
      with(R"({"trainer.train_steps": 5.0, "name": "a\/\ud83d\ude00"})"),
      Catch::Contains("train_steps = 5,") && Catch::Contains("name = \"a/\xF0\x9F\x98\x80\""));
  CHECK_THROWS_WITH(parse_params_override(R"({"seed": 1, "seed": 2})"),
                    Catch::Contains("the key 'seed' is given twice"));
  CHECK_THAT(with(R"({"task": {"modle": {"dropout": 0.5}}})"),
             Catch::Contains("unknown key 'modle'"));
}

TEST_CASE("numbers and words are parsed alike in all notations") {
  Configs configs(kGoodConfig);
  const Value tree =
      configs
          .resolve({"trainer.train_steps=1e5", "task.model.dropout=.25", "task.model.limit=null",
                    "task.model.activation=None", "trainer.max_to_keep=10.0"})
          .tree;
  CHECK(text_at(tree, "trainer.train_steps") == "100000");
  CHECK(text_at(tree, "trainer.max_to_keep") == "10");
  CHECK(text_at(tree, "task.model.dropout") == "0.25");
  CHECK(text_at(tree, "task.model.limit") == "\"none\"");
  CHECK(text_at(tree, "task.model.activation") == "\"none\"");
  CHECK_THAT(configs.diagnostics({"trainer.train_steps=1.5"}),
             Catch::Contains("expected an integer"));
}

TEST_CASE("a run's config.toml keeps references, with their values") {
  Configs configs;
  configs.write("main.toml", std::string(kGoodConfig) +
                                 "[xp]\nsteps = '${trainer.train_steps}'\nplain = '$${x}'\n");
  const std::string text = run_config_text(configs.resolve(), "Of a test.");
  CHECK_THAT(text, Catch::Contains("steps = \"${trainer.train_steps}\"  # 100\n"));
  configs.write("main.toml", text);
  CHECK(text_at(configs.resolve({"trainer.train_steps=7"}).tree, "xp.steps") == "7");
  const Value plain = read_run_config(configs.path("main.toml"));
  CHECK(text_at(plain, "xp.steps") == "100");
  CHECK(text_at(plain, "xp.plain") == "\"${x}\"");
}

TEST_CASE("the words for a value parse to that value") {
  Configs configs(kGoodConfig);
  for (const Value& value :
       {Value("5"), Value("true"), Value("a b"), Value("null"), Value(""), Value("'q'"),
        Value(".5"), Value("[1]"), Value("{a"), Value(5), Value(true), Value::array({1, "2"})}) {
    const std::string word = "task.model.notes=" + override_value_text(value);
    CAPTURE(word);
    CHECK(text_at(configs.resolve({word}).tree, "task.model.notes") == to_toml(value));
  }
}

TEST_CASE("an override below a swept value belongs to the units") {
  const std::vector<std::string> words{"task.model.dropout=0.5", "seed=3"};
  const auto inside = [&](const std::string& swept) {
    return said_inside(words, {.args = {{swept, Value("demo/Mlp")}}});
  };
  const std::vector<std::string> dropout{"task.model.dropout=0.5"};
  CHECK(inside("task.model") == dropout);
  CHECK(inside("task.model.type") == dropout);
  CHECK(inside("task.mod").empty());
  CHECK(inside("task.model.dropout").empty());
  CHECK(inside("**.model") == words);
}

TEST_CASE("values that --sweep changes are not in the shared config, nor are globs") {
  const auto left = [](const std::string& sweep) {
    ConfigRequest request;
    for (const char* word : {"task.model.layers[1].dims=2", "seed=3", "~task.model.dropout"}) {
      request.overrides.push_back(make_override(word));
    }
    std::vector<std::string> words;
    for (const Override& one : without_swept(request, {sweep}).overrides) {
      words.push_back(one.text);
    }
    return words;
  };
  using Words = std::vector<std::string>;
  const Words seed{"seed=3"};
  CHECK(left("task.model=a,b") == seed);
  CHECK(left("**.model=a,b") == seed);
  CHECK(left("task.mo*=a,b") == seed);
  CHECK(left("task.model.layers[*]=a,b") == Words{"seed=3", "~task.model.dropout"});
  CHECK(left("task.model.layers[0]=a,b").size() == 3);
  CHECK(left("**.layers[1].dims=1,2").size() == 3);
}

TEST_CASE("units that vary the config start from the files and get the overrides") {
  Configs configs(std::string(kGoodConfig) + "[xp]\na = '${xp.b}'\nb = '${seed}'\nc = 1\n");
  DemoCatalog catalog;
  ConfigRequest request{.files = {configs.path("main.toml")}};
  for (const char* word : {"task.model.dropout=0.5", "seed=3", "xp.c=2"}) {
    request.overrides.push_back(make_override(word));
  }
  ResolvedLaunch launch;
  launch.run = resolve_config(request, catalog);
  const launch::SweepItem item{.args = {{"name", Value("${xp.a}")}}};
  const UnitConfig config = unit_config(launch, request.overrides, Units::varied, {item});
  CHECK(config.words == std::vector<std::string>{"task.model.dropout=0.5", "seed=3"});
  CHECK_THAT(config.files_text, Catch::Contains("a = \"${xp.b}\"") &&
                                    Catch::Contains("b = \"${seed}\"") &&
                                    !Catch::Contains("c = ") && !Catch::Contains("seed = 3"));
  CHECK_THAT(config.text, Catch::Contains("seed = 3") && Catch::Contains("dropout = 0.5"));
  const UnitConfig shared = unit_config(launch, request.overrides, Units::alike, {});
  CHECK(shared.words.empty());
  CHECK(shared.files_text.empty());
  CHECK_THAT(shared.text, Catch::Contains("seed = 3") && !Catch::Contains("xp"));
}

}  // namespace trivet::test::config_order
