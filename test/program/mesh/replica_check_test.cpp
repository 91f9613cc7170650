// SPDX-License-Identifier: Apache-2.0
// Runs in which a process holds other weights than the others: mesh.check_interval ends them. A
// plugin changes the weights.
#include <set>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace replica_check_test {
namespace {

const char* const kConfig = R"(
[task]
type = "faulty/Task"
model = "faulty/Rows"
train_input = { type = "faulty/Numbers", batch_size = 8, prefetch = 0 }
[mesh]
ici_mesh_shape = [4, 1, 1]
check_interval = 10
[trainer]
train_steps = 40
steps_per_loop = 4
validation_interval = 0
checkpoint_interval = 4
optimizer = "optim/Adam"
learning_rate = 0.01
[runtime]
backend = "tiny/Backend"
threads = 1
)";

class Runs {
 public:
  Runs() : config_(temp_.write("config.toml", kConfig)) { plugins_.copy("faulty"); }

  fs::path directory(const std::string& name) const { return temp_ / name; }
  ShellResult run(const std::string& name, const std::string& more) const {
    return trivet::test::run(
        config_, directory(name),
        "--mode train --plugin-dir " + quoted(plugins_.path().string()) + " " + more);
  }
  std::string bytes(const std::string& name, std::int64_t step) const {
    const fs::path checkpoint = checkpoint_of(directory(name), step);
    return read_file(checkpoint / "model.safetensors") +
           read_file(checkpoint / "optimizer.safetensors");
  }

 private:
  TempDir temp_;
  PluginFolder plugins_;
  fs::path config_;
};

std::set<std::string> checkpoints_in(const fs::path& run) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    if (entry.is_directory()) names.insert(entry.path().filename());
  }
  return names;
}

std::size_t errors_in(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("error: "); at != std::string::npos;
       at = text.find("error: ", at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a run ends when a process differs from the others, and names it and the variable",
          "[slow]") {
  const Runs runs;
  struct Case {
    std::string more, text, hint;
  };
  const Case cases[] = {
      {"--processes 2 task.ranks=[1]", "process 1 of 2 differs from process 0 in 'b' after step 20",
       "(process 0), "},
      {"--processes 4 task.ranks=[2] 'task.variables=[\"a\", \"b\"]'",
       "process 2 of 4 differs from the others in 'a' and 1 other variable after step 20",
       "(process 2), or the plugins"},
      {"--processes 4 task.ranks=[0] 'task.variables=[\"a\"]'",
       "process 0 of 4 differs from the others in 'a' after step 20",
       "(process 0), or the plugins"},
      {"--processes 4 task.ranks=[1,3]", "processes 1, 3 of 4 differ from process 0 in 'b'",
       "(process 3), or the plugins"},
      // Each process updates a part of the weights. Others have it after the step.
      {"--processes 2 task.ranks=[1] task.model.dims=10000",
       "process 1 of 2 differs from process 0 in 'b' after step 20", "(process 1), or the plugins"},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const std::string name = "run" + std::to_string(i);
    // No checkpoint is due before the comparison.
    const ShellResult result = runs.run(
        name,
        cases[i].more + " task.at_step=20 trainer.steps_per_loop=5 trainer.checkpoint_interval=15");
    INFO(result.output);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.output, Contains(cases[i].text) && Contains(cases[i].hint) &&
                                  Contains("the newest checkpoint is from before"));
    CHECK(errors_in(result.output) == 1);
    CHECK(state_of(runs.directory(name)) == "failed");
    CHECK(checkpoints_in(runs.directory(name)) == std::set<std::string>{"step_00000015"});
  }
}

TEST_CASE("what processes hold is compared before it is saved", "[slow]") {
  const Runs runs;
  const ShellResult result =
      runs.run("run", "--processes 2 task.ranks=[1] task.at_step=19 mesh.check_interval=1000");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("differs from process 0 in 'b' after step 20"));
  CHECK(checkpoints_in(runs.directory("run")).rbegin()->ends_with("16"));

  // The run continues from before the difference, and ends as if there had been none.
  const ShellResult rest = runs.run("run", "--processes 4 mesh.check_interval=7");
  INFO(rest.output);
  CHECK(rest.exit_code == 0);
  CHECK_THAT(rest.output, Contains("16"));
  REQUIRE(runs.run("whole", "--processes 2").exit_code == 0);
  CHECK((runs.bytes("run", 40) == runs.bytes("whole", 40)));
}

TEST_CASE("no comparison changes a byte, and an interval of 0 makes none", "[slow]") {
  const Runs runs;
  REQUIRE(runs.run("one", "").exit_code == 0);
  for (const std::string interval : {"0", "1", "7", "1000"}) {
    for (const std::string fault : {"", " task.at_step=20"}) {  // of no process
      const std::string name = interval + (fault.empty() ? "" : "fault");
      const ShellResult result =
          runs.run(name, "--processes 4 mesh.check_interval=" + interval + fault);
      INFO(result.output);
      REQUIRE(result.exit_code == 0);
      CHECK((runs.bytes(name, 40) == runs.bytes("one", 40)));
      CHECK(record_values(runs.directory(name)) == record_values(runs.directory("one")));
    }
  }
  const ShellResult unseen =
      runs.run("unseen", "--processes 2 task.ranks=[0] task.at_step=20 mesh.check_interval=0");
  INFO(unseen.output);
  CHECK(unseen.exit_code == 0);
  CHECK((runs.bytes("unseen", 40) != runs.bytes("one", 40)));
}

TEST_CASE("an interval that is no number of steps is refused before anything is written") {
  const Runs runs;
  for (const std::string value : {"-1", "x", "1e99", "1.5"}) {
    const ShellResult result = runs.run("run", "--processes 2 mesh.check_interval=" + value);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("mesh.check_interval: "));
    CHECK_FALSE(fs::exists(runs.directory("run")));
  }
}

TEST_CASE("an action reads weights that all processes have, and fails where they have parts") {
  const Runs runs;
  const std::string words =
      "--processes 2 trainer.train_steps=1 task.model.dims=20000 "
      "'trainer.train_actions=[{ type = \"faulty/Peek\" }]' mesh.ici_mesh_shape=";
  CHECK(runs.run("whole", words + "[4,1,1]").exit_code == 0);
  const ShellResult parts = runs.run("parts", words + "[1,4,1]");
  CHECK(parts.exit_code == 1);
  CHECK_THAT(parts.output, Contains("process 0 needs something of the other processes") &&
                               Contains("Trainer::export_tensors"));
}

}  // namespace replica_check_test
