// SPDX-License-Identifier: Apache-2.0
// The order of calls to a task in every mode of the program: a plugin's task records its calls. The
// order is that of task.h; for the modes with one process it is that of
// test/runtime/train_life_test.cpp, here through the command line.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/shell.h"
#include "support/task_calls.h"

namespace life_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const char* const kConfig = R"(
[task]
type = "recorder/Task"
model = "recorder/Line"
train_input = { type = "recorder/Ones", batch_size = 4, prefetch = 0 }
eval_input = { type = "recorder/Ones", batch_size = 4, prefetch = 0, batches = 2 }
[trainer]
train_steps = 2
optimizer = "optim/Sgd"
learning_rate = 0.1
[runtime]
backend = "tiny/Backend"
threads = 1
)";

// Runs of one config in their own folder.
class Runs {
 public:
  Runs() : config_(temp_.write("config.toml", kConfig)) { plugins_.copy("recorder"); }

  // The calls of one process in this mode; its exit code must be 0.
  std::string calls(const std::string& mode, const std::string& more = {}) {
    const fs::path file = temp_ / "calls";
    fs::remove(file);
    const auto result = shell("TRIVET_TEST_CALLS=" + quoted(file.string()) +
                              " TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " " +
                              quoted(program().string()) + " run " + quoted(config_.string()) +
                              " --plugin-dir " + quoted(plugins_.path().string()) + " --workdir " +
                              quoted(run().string()) + " --mode " + mode + " " + more);
    INFO(result.output);
    CHECK(result.exit_code == 0);
    output_ = result.output;
    return fs::exists(file) ? read_file(file) : std::string();
  }
  fs::path run() const { return temp_ / directory_; }
  void work_in(const std::string& directory) { directory_ = directory; }
  const std::string& output() const { return output_; }

 private:
  PluginFolder plugins_;
  TempDir temp_;
  fs::path config_;
  std::string directory_ = "run", output_;
};

}  // namespace

TEST_CASE("the modes of one process call a task in a fixed order") {
  const std::pair<const char*, std::string> expected[] = {
      {"train", kBuildTraining + kBuildLearner + "initialize\n" + kTrainStep + kTrainStep},
      {"eval", "build_model\n" + kBuildEvaluation + "initialize\n" + evaluation_calls(0)},
      {"train_and_eval", kTrainAndEvaluate},
      {"train_and_post_eval", kTrainAndEvaluate},
  };
  for (const auto& [mode, calls] : expected) {
    INFO(mode);
    CHECK(Runs().calls(mode) == calls);
  }
}

TEST_CASE(
    "continuous_eval builds the evaluation half once and evaluates each checkpoint that it "
    "imports") {
  Runs runs;
  runs.calls("train");
  CHECK(runs.calls("continuous_eval") == "build_model\n" + kBuildEvaluation + evaluation_calls(2));
  // No new checkpoint; this is reported after the data is opened, which also happens without a
  // checkpoint.
  CHECK(runs.calls("continuous_eval") == "build_model\n" + kBuildEvaluation);
  runs.calls("train", "trainer.train_steps=5");
  CHECK(runs.calls("continuous_eval", "trainer.train_steps=5") ==
        "build_model\n" + kBuildEvaluation + evaluation_calls(5));
}

TEST_CASE("continuous_train_and_eval builds a new task for each checkpoint") {
  Runs runs;
  runs.calls("train");
  const std::string base = "task.init_checkpoint=" + quoted(runs.run().string());
  runs.work_in("tuned");
  CHECK(runs.calls("continuous_train_and_eval", base) == kTrainAndEvaluate);
  CHECK_THAT(runs.output(), Contains("training from the checkpoint of step 2"));
  // The work is done: no task is built.
  CHECK(runs.calls("continuous_train_and_eval", base).empty());
}

}  // namespace life_test
