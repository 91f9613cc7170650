// SPDX-License-Identifier: Apache-2.0
// Experiments by name as the lowest layers of a config: registered ones and files.
#include <catch2/catch.hpp>

#include "config/tree/drop_defaults.h"
#include "config_fixture.h"
#include "trivet/error.h"

using trivet::ResolvedConfig;
using trivet::test::Configs;
using trivet::test::text_at;

TEST_CASE("an experiment may be a file with bases, below all given values") {
  Configs configs;
  configs.write("low.toml", "seed = 1\n[trainer]\ntrain_steps = 10\nmax_to_keep = 3\n");
  configs.write("named.toml",
                "base = ['low.toml']\n[task]\ntype = 'demo/Task'\nmodel = 'demo/Mlp'\n"
                "[trainer]\nmax_to_keep = 4\n");
  configs.write("main.toml", "experiment = 'demo/named'\n[trainer]\ntrain_steps = 20\n");
  configs.name_experiment("demo/named", "named.toml");
  const ResolvedConfig config = configs.resolve();
  CHECK(configs.origin(config, "seed") == "low.toml:1:8");
  CHECK(configs.origin(config, "trainer.max_to_keep") == "named.toml:6:15");
  CHECK(configs.origin(config, "trainer.train_steps") == "main.toml:3:15");
}

TEST_CASE("an experiment file may start from another experiment, but not from itself") {
  Configs configs;
  configs.write("upper.toml", "experiment = 'demo/small'\nseed = 3\n");
  configs.name_experiment("demo/upper", "upper.toml");
  configs.request.experiment = "demo/upper";
  const ResolvedConfig config = configs.resolve();
  CHECK(config.experiment.seed == 3);
  CHECK(text_at(config.tree, "trainer.train_steps") == "300");

  configs.write("a.toml", "experiment = 'demo/b'\n");
  configs.write("b.toml", "seed = 1\nexperiment = 'demo/a'\n");
  configs.name_experiment("demo/a", "a.toml");
  configs.name_experiment("demo/b", "b.toml");
  configs.request.experiment = "demo/a";
  CHECK(configs.diagnostics() ==
        "b.toml:2:14: experiment: experiment cycle: demo/a -> demo/b -> demo/a (an experiment "
        "cannot start from itself)\n");
}

TEST_CASE("a registered experiment sets only its choices: [defaults] apply to the rest") {
  Configs configs;
  configs.write("main.toml",
                "experiment = 'demo/small'\n"
                "[defaults.'trivet/Trainer']\nmax_to_keep = 9\ntrain_steps = 9\n"
                "[defaults.'demo/Relu']\nslope = 0.5\n");
  const ResolvedConfig config = configs.resolve();
  CHECK(configs.origin(config, "trainer.max_to_keep") == "main.toml:3:15");
  CHECK(configs.origin(config, "trainer.train_steps") == "experiment demo/small");
  CHECK(configs.origin(config, "trainer.steps_per_loop") == "default");
  CHECK(text_at(config.tree, "task.model.activation.slope") == "0.5");
  CHECK(configs.origin(config, "runtime.backend") == "default");
}

TEST_CASE("every lookup of an experiment returns a new config") {
  Configs configs;
  configs.request.experiment = "demo/small";
  CHECK(configs.resolve({"trainer.train_steps=1"}).experiment.seed == 7);
  CHECK(text_at(configs.resolve().tree, "trainer.train_steps") == "300");
}

TEST_CASE("restrictions of an experiment apply to higher layers, with the location") {
  Configs configs;
  configs.write("main.toml", "experiment = 'demo/small'\n[task]\nclasses = 9\n");
  CHECK(configs.diagnostics() == "main.toml:3:11: task.classes: must be 10 (it is small)\n");
  CHECK(configs.diagnostics({"task.classes=8", "trainer.train_steps=-1"}) ==
        "command line:1:14 (task.classes=8): task.classes: must be 10 (it is small)\n"
        "command line:2:21 (trainer.train_steps=-1): trainer.train_steps: must be >= 0, found "
        "-1\n");
  // The restrictions also apply to a file that starts from the experiment.
  configs.write("named.toml", "experiment = 'demo/small'\n");
  configs.name_experiment("demo/named", "named.toml");
  configs.write("main.toml", "experiment = 'demo/named'\n[task]\nclasses = 9\n");
  CHECK(configs.diagnostics() == "main.toml:3:11: task.classes: must be 10 (it is small)\n");
}

TEST_CASE("restrictions are kept in the resolved config and apply to configs based on it") {
  Configs configs;
  configs.request.experiment = "demo/small";
  const ResolvedConfig first = configs.resolve();
  CHECK(configs.origin(first, "restrictions[0]") == "experiment demo/small");
  Configs again(trivet::config_text(first));
  CHECK(again.resolve().tree == first.tree);
  CHECK(again.diagnostics({"task.classes=8"}) ==
        "command line:1:14 (task.classes=8): task.classes: must be 10 (it is small)\n");
  // And to a file on top of it that starts from the experiment again.
  again.request.experiment = "demo/small";
  again.request.files = {again.path("main.toml")};
  CHECK(text_at(again.resolve().tree, "restrictions") == "[\"demo/small\"]");
}

TEST_CASE("restrictions of an experiment can only be lifted on the command line") {
  Configs configs;
  configs.request.experiment = "demo/small";
  CHECK(configs.diagnostics({"restrictions=[]", "task.classes=8"}) == "no problem");
  CHECK(text_at(configs.resolve({"restrictions=[]"}).tree, "restrictions") == "[]");
  configs.write("main.toml", "restrictions = []\n[task]\nclasses = 9\n");
  configs.request.files = {configs.path("main.toml")};
  CHECK(configs.diagnostics() == "main.toml:3:11: task.classes: must be 10 (it is small)\n");
  CHECK(configs.diagnostics({"restrictions=[]"}) == "no problem");
}

TEST_CASE("restrictions that cannot be checked are an error unless they are removed") {
  const std::string good = trivet::test::kGoodConfig;
  Configs gone("restrictions = ['demo/gone']\n" + good);
  CHECK(gone.diagnostics() ==
        "main.toml:1:17: restrictions[0]: there is no experiment 'demo/gone' (install its plugin, "
        "or remove it to skip its rules; try demo/small)\n");
  CHECK(gone.diagnostics({"restrictions=[]"}) == "no problem");
  CHECK(gone.diagnostics({"restrictions=['demo/small']", "task.classes=3"}) ==
        "command line:2:14 (task.classes=3): task.classes: must be 10 (it is small)\n");
  Configs refused("restrictions = ['demo/Refused']\n" + good);
  CHECK_THROWS_AS(refused.resolve(), trivet::PluginError);
  Configs text("restrictions = 'demo/small'\n" + good);
  CHECK_THAT(text.diagnostics(),
             Catch::StartsWith("main.toml:1:16: restrictions: expected an array, found a string"));
  Configs bytes("restrictions = ['demo/\xFF']\n" + good);
  CHECK_THAT(bytes.diagnostics(), Catch::StartsWith("main.toml:1:23: the file is not UTF-8 text"));
}

TEST_CASE("a batch that gradient accumulation cannot cut evenly is refused with the location") {
  Configs configs(trivet::test::kGoodConfig);
  CHECK(configs.diagnostics({"trainer.gradient_accumulation=4"}) == "no problem");
  CHECK(
      configs.diagnostics({"trainer.gradient_accumulation=3"}) ==
      "command line:1:31 (trainer.gradient_accumulation=3): trainer.gradient_accumulation: is 3, "
      "which does not divide task.train_input.batch_size = 16 (every part of a batch must have as "
      "many examples)\n");
}
