// SPDX-License-Identifier: Apache-2.0
// A language model learns preferences: the reference stays the model that it started from, also
// through a kill, and the result generates, predicts, is exported and is the start of other runs.
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "safetensors_reader.h"
#include "support/disk/slow_disk.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kShort =
    "runtime.threads=1 trainer.steps_per_loop=1 task.model.model_dims=16 task.model.num_heads=2 "
    "task.train_input.batch_size=8 ";

// A model of number words, and the words of a run that continues from it.
struct Preferences {
  Preferences() {
    const ShellResult first =
        run(config("lm/numbers.toml"), dir / "first", kShort + "mode=train trainer.train_steps=8");
    INFO(first.output);
    REQUIRE(first.exit_code == 0);
  }
  ShellResult start(const std::string& name, const std::string& more,
                    const std::string& settings = {}) const {
    return run(config("lm/preferences.toml"), dir / name,
               kShort +
                   "trainer.train_steps=6 trainer.checkpoint_interval=2 task.init_checkpoint=" +
                   path("first") + " " + more,
               settings);
  }
  std::string path(const std::string& name) const { return quoted((dir / name).string()); }
  auto weights(const std::string& name, int step) const {
    return read_safetensors(checkpoint_of(dir / name, step) / "model.safetensors");
  }
  TempDir dir;
};

}  // namespace

TEST_CASE("the reference is the model that preferences started from, also after a kill", "[slow]") {
  const Preferences preferences;
  const ShellResult alone = preferences.start("alone", "mode=train");
  INFO(alone.output);
  REQUIRE(alone.exit_code == 0);
  const auto before = preferences.weights("first", 8), after = preferences.weights("alone", 6);
  CHECK(after.size() == 2 * before.size());
  bool has_learned = false;
  for (const auto& [name, tensor] : before) {
    INFO(name);
    CHECK(after.at("reference/" + name).values == tensor.values);
    has_learned = has_learned || after.at(name).values != tensor.values;
  }
  CHECK(has_learned);
  for (const auto& [name, tensor] :
       read_safetensors(checkpoint_of(preferences.dir / "alone", 6) / "optimizer.safetensors")) {
    CHECK_THAT(name, !Contains("reference/"));
  }
  CHECK(records(preferences.dir / "alone", "train")[0]
            .at("values")
            .at("training_loss")
            .get<double>() == Approx(std::log(2.0)).epsilon(1e-5));

  const SlowDisk disk{.below = checkpoint_of(preferences.dir / "killed", 4), .kill = 1};
  REQUIRE(preferences.start("killed", "mode=train", disk.prefix()).exit_code == 128 + SIGKILL);
  const ShellResult again = preferences.start("killed", "mode=train");
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    CHECK(read_file(checkpoint_of(preferences.dir / "killed", 6) / file) ==
          read_file(checkpoint_of(preferences.dir / "alone", 6) / file));
  }
}

TEST_CASE("a model that learned preferences generates, scores pairs, is exported and continues",
          "[slow]") {
  const Preferences preferences;
  const ShellResult tuned = preferences.start("tuned", "trainer.validation_interval=6");
  INFO(tuned.output);
  REQUIRE(tuned.exit_code == 0);
  const auto eval = json_of(preferences.dir / "tuned" / "summary.json").at("eval");
  CHECK(eval.at("num_pairs") == 200);
  CHECK(eval.contains("reward_accuracy"));
  const auto trivet_on = [&](const std::string& words) {
    const ShellResult result = trivet::test::trivet(words);
    INFO(words << ": " << result.output);
    REQUIRE(result.exit_code == 0);
    return result.output;
  };
  const std::string run_path = preferences.path("tuned");
  CHECK_THAT(trivet_on("generate " + run_path + " 'six is' --tokens 3 --seed 1"),
             Contains("six is"));
  const fs::path pairs = preferences.dir.write("pairs.jsonl", R"({"left": "six", "right": "6"})");
  CHECK_THAT(trivet_on("predict " + run_path + " --input " + quoted(pairs.string())),
             Contains("\"chosen_reward\":") && Contains("\"reward_margin\":"));
  trivet_on("export " + run_path + " -o " + preferences.path("out"));
  // GPT-2's layout has the policy's weights alone.
  const auto exported = read_safetensors(preferences.dir / "out" / "model.safetensors");
  CHECK(exported.at("transformer.wte.weight").values ==
        preferences.weights("tuned", 6).at("softmax/table").values);
  const ShellResult next = run(config("lm/numbers.toml"), preferences.dir / "next",
                               kShort +
                                   "mode=train trainer.train_steps=1 trainer.learning_rate=0 "
                                   "task.init_checkpoint=" +
                                   run_path);
  INFO(next.output);
  REQUIRE(next.exit_code == 0);
  CHECK(preferences.weights("next", 1).at("softmax/table").values ==
        preferences.weights("tuned", 6).at("softmax/table").values);
}

TEST_CASE("a summary of preferences on a mesh reads the checkpoint") {
  const Preferences preferences;
  const ShellResult seen = trivet::test::trivet(
      "summary " + quoted(config("lm/preferences.toml").string()) + " " + kShort +
      "mesh.ici_mesh_shape=[1,4,1] task.init_checkpoint=" + preferences.path("first"));
  INFO(seen.output);
  CHECK(seen.exit_code == 0);
  CHECK_THAT(seen.output, Contains("4 devices (replica 1, data 4, mdl 1) in 1 process"));
}

TEST_CASE("preferences need the checkpoint of a model and pairs") {
  const TempDir dir;
  const auto refused = [&](const std::string& words) {
    const ShellResult result = run(config("lm/preferences.toml"), dir / "run", words);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(fs::exists(dir / "run" / "checkpoints"));
    return result.output;
  };
  CHECK_THAT(refused("task.init_checkpoint=\"\""),
             Contains("task.init_checkpoint: is not set, and preferences are learned"));
  CHECK_THAT(refused("task.init_checkpoint=" + quoted((dir / "none").string())), Contains("none"));
  for (const char* mesh : {"", " mesh.ici_mesh_shape=[1,4,1]", " --abstract"}) {
    CAPTURE(mesh);
    const ShellResult seen =
        trivet::test::trivet("summary " + quoted(config("lm/preferences.toml").string()) +
                             " task.init_checkpoint=" + quoted((dir / "none").string()) + mesh);
    INFO(seen.output);
    CHECK(seen.exit_code == 2);
    CHECK_THAT(seen.output, Contains("task.init_checkpoint: no checkpoint at"));
  }
  CHECK_THAT(refused("task.beta=0"), Contains("task.beta"));
  CHECK_THAT(refused("task.model.entropy_loss_weight=0.1"),
             Contains("task.model.entropy_loss_weight"));
}

TEST_CASE("the small config for preferences learns them", "[slow]") {
  const TempDir dir;
  const ShellResult first = run(config("lm/numbers.toml"), dir / "first", "");
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  const ShellResult tuned = run(config("lm/preferences.toml"), dir / "tuned",
                                "task.init_checkpoint=" + quoted((dir / "first").string()));
  INFO(tuned.output);
  REQUIRE(tuned.exit_code == 0);
  const auto eval = json_of(dir / "tuned" / "summary.json").at("eval");
  CHECK(eval.at("reward_accuracy") > 0.98);
  CHECK_THAT(trivet::test::trivet("generate " + quoted((dir / "tuned").string()) +
                                  " 'sixty-one is' --temperature 0")
                 .output,
             Contains("sixty-one is 6"));
}
