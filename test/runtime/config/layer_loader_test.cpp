// SPDX-License-Identifier: Apache-2.0
// Layers of a config: their priority, how they merge, and the origins of values.
#include <catch2/catch.hpp>

#include "config/toml/toml_reader.h"
#include "config_fixture.h"

using trivet::ResolvedConfig;
using trivet::Value;
using trivet::test::Configs;
using trivet::test::kGoodConfig;
using trivet::test::text_at;

TEST_CASE("a resolved config has every default, explicit types and an origin for each value") {
  Configs configs;
  configs.write("main.toml", kGoodConfig);
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "task.model") ==
        "{type = \"demo/Mlp\", hidden_dims = [64, 32], activation = {type = \"demo/Relu\", slope = "
        "0.0}, dropout = 0.0, shape = \"round\", patience = 60.0, vocabulary = \"\", weights = {}, "
        "parts = {label = \"none so far\", sizes = [3, 5]}}");
  CHECK(text_at(config.tree, "trainer.type") == "\"trivet/Trainer\"");
  CHECK(text_at(config.tree, "trainer.optimizer") == "{type = \"demo/Sgd\", momentum = 0.9}");
  CHECK(text_at(config.tree, "trainer.learning_rate") == "{type = \"demo/Constant\", value = 0.5}");
  CHECK(text_at(config.tree, "runtime.backend") == "\"cpu/Highway\"");
  CHECK(configs.origin(config, "task.model.hidden_dims") == "main.toml:6:15");
  CHECK(configs.origin(config, "task.model.activation.slope") == "default");
  CHECK(configs.origin(config, "trainer.type") == "default");
  CHECK(configs.origin(config, "trainer.learning_rate.value") == "main.toml:13:17");
  CHECK(config.experiment.seed == 1);
  CHECK(config.experiment.task.key() == "demo/Task");
  CHECK(config.experiment.task.path() == "task");
}

TEST_CASE("a file can name the files beside it, wherever it is") {
  Configs configs;
  const std::string dir = configs.path("main.toml").parent_path().string();
  // Also in a folder whose name looks like a reference.
  configs.write("b${seed}/base.toml",
                std::string(kGoodConfig) + "[xp]\nbase = ['${config_dir}/${config_dir}']\n");
  configs.write("main.toml",
                "base = ['b${seed}/base.toml']\n[xp]\nown = '${config_dir}/a, $${config_dir}'\n");
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "xp.own") == "\"" + dir + "/a, ${config_dir}\"");
  CHECK(text_at(config.tree, "xp.base") == "[\"" + dir + "/b${seed}/" + dir + "/b${seed}\"]");
  CHECK_THAT(configs.diagnostics({"xp.own=${config_dir}"}),
             Catch::Contains("${config_dir} is the folder of a config file"));
}

TEST_CASE("the written config resolves to an equal tree, any number of times") {
  Configs configs;
  configs.write("main.toml",
                std::string(kGoodConfig) +
                    "[task.model.weights]\n\"a b\" = inf\n[xp]\nnote = \"$${x} ${seed}\"\n"
                    "[backend.\"cpu/Highway\"]\nthreads = 3\n[sweep.lr]\nx = [1]\n"
                    "[defaults.\"demo/Relu\"]\nslope = 0.25\n");
  const ResolvedConfig first = configs.resolve();
  CHECK(text_at(first.tree, "xp.note") == "\"${x} 1\"");
  configs.write("main.toml", trivet::config_text(first, {.origins = true}));
  const ResolvedConfig second = configs.resolve();
  CHECK(second.tree == first.tree);
  CHECK(trivet::equal(second.experiment, first.experiment));
  CHECK(trivet::config_text(second) == trivet::config_text(first));
  CHECK(text_at(second.backend_options, "threads") == "3");
}

TEST_CASE("later layers win: base files, the file, config files, overrides") {
  Configs configs;
  configs.write("sub/low.toml",
                "seed = 1\nname = 'low'\n[trainer]\ntrain_steps = 1\nmax_to_keep = 1\n");
  configs.write("sub/mid.toml", "base = ['low.toml']\nname = 'mid'\n[trainer]\ntrain_steps = 2\n");
  configs.write("main.toml",
                "base = ['sub/mid.toml', 'other.toml']\ntask = 'demo/Task'\n"
                "[trainer]\nvalidation_steps = 4\n");
  configs.write("other.toml", "[trainer]\ntrain_steps = 3\n");
  configs.write("more.toml", "[trainer]\nvalidation_steps = 5\n");
  ResolvedConfig config = configs.resolve();
  CHECK(config.experiment.name == "mid");
  CHECK(text_at(config.tree, "trainer.train_steps") == "3");
  CHECK(configs.origin(config, "trainer.train_steps") == "other.toml:2:15");
  CHECK(configs.origin(config, "trainer.max_to_keep") == "sub/low.toml:5:15");
  CHECK(configs.origin(config, "trainer.validation_steps") == "main.toml:4:20");
  CHECK(configs.origin(config, "trainer.steps_per_loop") == "default");
  CHECK(config.tree.find("base") == nullptr);

  configs.request.files = {configs.path("main.toml"), configs.path("more.toml")};
  config = configs.resolve({"name=top"});
  CHECK(configs.origin(config, "trainer.validation_steps") == "more.toml:2:20");
  CHECK(configs.origin(config, "name") == "command line:1:6 (name=top)");
  CHECK(config.experiment.name == "top");
}

TEST_CASE("a registered experiment is the lowest layer, from a file or a flag") {
  Configs configs;
  configs.write("main.toml", "experiment = 'demo/small'\n[trainer]\nmax_to_keep = 2\n");
  const ResolvedConfig named = configs.resolve();
  CHECK(named.experiment.seed == 7);
  CHECK(text_at(named.tree, "trainer.train_steps") == "300");
  CHECK(text_at(named.tree, "trainer.max_to_keep") == "2");
  CHECK(configs.origin(named, "trainer.train_steps") == "experiment demo/small");
  CHECK(text_at(named.tree, "task.model.type") == "\"demo/Mlp\"");
  CHECK(named.tree.find("experiment") == nullptr);

  configs.request.experiment = "demo/small";
  const ResolvedConfig alone = configs.resolve({"seed=8"});
  CHECK(alone.experiment.seed == 8);
  CHECK(text_at(alone.tree, "trainer.max_to_keep") == "5");
}

TEST_CASE("tables merge, lists and single values replace") {
  Configs configs;
  configs.write("low.toml", kGoodConfig);
  configs.write("main.toml",
                "base = ['low.toml']\n[task.model]\nhidden_dims = [7]\ndropout = 0.5\n");
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "task.model.hidden_dims") == "[7]");
  CHECK(text_at(config.tree, "task.model.dropout") == "0.5");
  CHECK(text_at(config.tree, "task.train_input.batch_size") == "16");
}

TEST_CASE("a layer that changes a type replaces the table") {
  Configs configs;
  configs.write("low.toml", kGoodConfig);
  SECTION("in a file") {
    configs.write("main.toml", "base = ['low.toml']\ntask.model = {type = 'demo/Stack'}\n");
    CHECK(text_at(configs.resolve().tree, "task.model") == "{type = \"demo/Stack\", layers = []}");
  }
  SECTION("by the short form") {
    configs.write("main.toml", "base = ['low.toml']\ntask.model = 'demo/Stack'\n");
    CHECK(text_at(configs.resolve().tree, "task.model") == "{type = \"demo/Stack\", layers = []}");
  }
  SECTION("where the type below was only the default") {
    configs.write("main.toml", "base = ['low.toml']\ntrainer.type = 'demo/Trainer'\n");
    const ResolvedConfig config = configs.resolve();
    CHECK(text_at(config.tree, "trainer.train_steps") == "0");
    CHECK(text_at(config.tree, "trainer.rounds") == "1");
  }
  SECTION("but the same type merges") {
    configs.write("main.toml",
                  "base = ['low.toml']\n[trainer]\ntype = 'trivet/Trainer'\nmax_to_keep = 1\n");
    CHECK(text_at(configs.resolve().tree, "trainer.train_steps") == "100");
  }
}

TEST_CASE("a table over the short form of its type is merged with it") {
  Configs configs;
  configs.write("low.toml", kGoodConfig);
  configs.write("main.toml",
                "base = ['low.toml']\ntrainer.optimizer = {momentum = 0.5}\n"
                "task.model.activation = {slope = 0.1}\n");
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "trainer.optimizer") == "{type = \"demo/Sgd\", momentum = 0.5}");
  CHECK(text_at(config.tree, "task.model.activation") == "{type = \"demo/Relu\", slope = 0.1}");
}

TEST_CASE("a part can be switched off with none, and back on") {
  Configs configs;
  configs.write("low.toml", std::string(kGoodConfig) +
                                "[task.eval_input]\ntype = 'demo/Noise'\nbatch_size = 1\n");
  configs.write("main.toml", "base = ['low.toml']\ntask.model.activation = 'none'\n");
  CHECK(text_at(configs.resolve().tree, "task.model.activation") == "\"none\"");
  CHECK(text_at(configs.resolve({"task.model.activation.slope=0.5"}).tree,
                "task.model.activation") == "{type = \"demo/Relu\", slope = 0.5}");
  CHECK(text_at(configs.resolve({"task.eval_input=none"}).tree, "task.eval_input") == "\"none\"");
}

TEST_CASE("old names of a field merge with the new one") {
  Configs configs;
  configs.write("low.toml", kGoodConfig);
  configs.write("main.toml", "base = ['low.toml']\ntask.model.nonlinearity = {slope = 0.2}\n");
  const ResolvedConfig config = configs.resolve({"task.model.nonlinearity.slope=0.3"});
  CHECK(text_at(config.tree, "task.model.activation.slope") == "0.3");
  CHECK(text_at(config.tree, "task.model.nonlinearity") == "absent");
  configs.write(
      "main.toml",
      "base = ['low.toml']\n[task.model]\nnonlinearity = 'demo/Relu'\nactivation = 'demo/Relu'\n");
  CHECK_THAT(
      configs.diagnostics(),
      Catch::Contains("main.toml:3:16: task.model.nonlinearity: is an old name of 'activation'"));
}

TEST_CASE("tables of [defaults] fill every table of a type, below given values") {
  Configs configs;
  configs.write(
      "main.toml",
      "[task]\ntype = 'demo/Task'\n[task.model]\ntype = 'demo/Stack'\n"
      "layers = [{type = 'demo/Linear', dims = 1}, {type = 'demo/Linear', dropout = 0.25}, "
      "{type = 'demo/Residual', body = 'demo/Linear'}]\n"
      "[defaults.\"demo/Linear\"]\ndims = 9\ndropout = 0.5\nactivation = 'demo/Relu'\n"
      "[defaults.\"demo/Relu\"]\nslope = 0.125\n");
  const ResolvedConfig config = configs.resolve();
  CHECK(text_at(config.tree, "task.model.layers[0].dims") == "1");
  CHECK(text_at(config.tree, "task.model.layers[0].dropout") == "0.5");
  CHECK(text_at(config.tree, "task.model.layers[1].dropout") == "0.25");
  CHECK(text_at(config.tree, "task.model.layers[2].body.dims") == "9");
  CHECK(text_at(config.tree, "task.model.layers[2].body.activation.slope") == "0.125");
  CHECK(configs.origin(config, "task.model.layers[1].dims") == "main.toml:7:8");
  CHECK(config.tree.find("defaults") == nullptr);
  CHECK(text_at(configs.resolve({"defaults.\"demo/Linear\".dims=4"}).tree,
                "task.model.layers[1].dims") == "4");
}

TEST_CASE("errors in [defaults] are reported once, used or not") {
  Configs configs;
  configs.write("main.toml",
                "task = 'demo/Task'\n[task_]\n[defaults.\"demo/Linear\"]\ndimz = 9\n"
                "[defaults.\"demo/Lunear\"]\n");
  CHECK(configs.diagnostics() ==
        "main.toml:2:2: task_: unknown key 'task_' (did you mean 'task'?)\n"
        "main.toml:4:1: defaults.\"demo/Linear\".dimz: unknown key 'dimz' (did you mean 'dims'?)\n"
        "main.toml:5:11: defaults.\"demo/Lunear\": unknown type 'demo/Lunear' (did you mean "
        "'demo/Linear'?)\n");
  configs.write(
      "main.toml",
      "[task]\ntype = 'demo/Task'\nmodel = {type = 'demo/Stack', layers = "
      "['demo/Linear', 'demo/Linear']}\n[defaults.\"demo/Linear\"]\ndims = 1\ndropout = 2\n");
  CHECK(configs.diagnostics() ==
        "main.toml:6:11: defaults.\"demo/Linear\".dropout: must be in [0, 1), found 2\n");
}

TEST_CASE("defaults that contain themselves are reported and not followed forever") {
  Configs configs;
  configs.write(
      "main.toml",
      "[task]\ntype = 'demo/Task'\nmodel = {type = 'demo/Stack', layers = ['demo/Endless']}\n");
  CHECK_THAT(configs.diagnostics(), Catch::Contains("contain that type without end"));
  configs.write(
      "main.toml",
      "[task]\ntype = 'demo/Task'\nmodel = {type = 'demo/Stack', layers = ['demo/Residual']}\n"
      "[defaults.\"demo/Residual\"]\nbody = 'demo/Residual'\n");
  CHECK_THAT(configs.diagnostics(), Catch::Contains("contain that type without end"));
}

TEST_CASE("sweeps are kept apart, xp and backend options stay in the tree") {
  Configs configs;
  configs.write("main.toml", std::string(kGoodConfig) +
                                 "[sweep.lr]\n\"trainer.learning_rate\" = [0.1, 0.2]\n"
                                 "[backend.\"tiny/Backend\"]\nmax_device_bytes = 5\n");
  const ResolvedConfig config = configs.resolve({"runtime.backend=tiny/Backend", "xp.note=a b"});
  CHECK(text_at(config.sweeps, "lr") == "{\"trainer.learning_rate\" = [0.1, 0.2]}");
  CHECK(config.tree.find("sweep") == nullptr);
  CHECK(text_at(config.tree, "xp.note") == "\"a b\"");
  CHECK(config.experiment.runtime.backend == "tiny/Backend");
  CHECK(text_at(config.backend_options, "max_device_bytes") == "5");
}

TEST_CASE("a config may be based on one file twice, but not on itself") {
  Configs configs;
  configs.write("common.toml", "task = 'demo/Task'\n");
  configs.write("a.toml", "base = ['common.toml']\n");
  configs.write("main.toml", "base = ['a.toml', 'common.toml']\n");
  CHECK(configs.diagnostics() == "no problem");
  configs.write("common.toml", "seed = 1\nbase = ['sub/../main.toml']\n");
  CHECK(configs.diagnostics() ==
        "common.toml:2:9: base: base cycle: main.toml -> a.toml -> common.toml -> main.toml (a "
        "config cannot be based on itself)\n"
        "common.toml:2:9: base: base cycle: main.toml -> common.toml -> main.toml (a config cannot "
        "be based on itself)\n");
}
