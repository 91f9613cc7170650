// SPDX-License-Identifier: Apache-2.0
// Plugins that misbehave during training: the run fails, and the message names the plugin, its item
// and its location in the config.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

namespace containment_test {

using namespace trivet;
using Catch::Contains;
using test::quoted;

namespace {

constexpr const char* kConfig = R"(seed = 1
task.type = "hostile/Task"
task.metric = { type = "hostile/Metric" }
task.model = { type = "hostile/Model", layer = { type = "hostile/Layer" } }
task.train_input = { type = "hostile/Input", batch_size = 2 }
task.eval_input = { type = "hostile/Input", batch_size = 2 }
trainer.train_steps = 3
trainer.learning_rate = { type = "hostile/Schedule" }
trainer.optimizer = { type = "hostile/Optimizer" }
runtime.backend = "hostile/Backend"
runtime.threads = 1
)";

// A run of the hostile plugin in its own folder.
class HostileRun {
 public:
  explicit HostileRun(const std::string& more, const std::string& settings = {}) {
    file_ = folder_.copy("hostile").string();
    const auto config = temp_.write("hostile.toml", kConfig);
    result_ = test::run(config, workdir(),
                        "--plugin-dir " + quoted(folder_.path().string()) + " " + more, settings);
  }

  int exit_code() const { return result_.exit_code; }
  const std::string& output() const { return result_.output; }
  const std::string& file() const { return file_; }
  std::filesystem::path workdir() const { return temp_ / "run"; }
  std::string state() const { return test::json_of(workdir() / "status.json").at("state"); }

 private:
  test::PluginFolder folder_;
  test::TempDir temp_;
  std::string file_;
  test::ShellResult result_;
};

struct Location {
  std::string path;  // of the item in the config
  std::string method;
  std::string kind;
  std::string name;  // of the item
};

const std::vector<Location> kPlaces = {
    {"task.model.layer", "fprop", "layer", "Layer"},
    {"task.model", "fprop", "model", "Model"},
    {"task.train_input", "get_next", "input", "Input"},
    {"task", "build_losses", "task", "Task"},
    {"task.metric", "update_state", "metric", "Metric"},
    {"trainer.optimizer", "update", "optimizer", "Optimizer"},
    {"trainer.learning_rate", "value", "schedule", "Schedule"},
};

std::string fault(const Location& location, const std::string& how) {
  return location.path + ".fault.in=" + location.method + " " + location.path + ".fault.how=" + how;
}

void check_blamed(const HostileRun& run, const std::string& key) {
  INFO(run.output());
  CHECK(run.exit_code() == 3);
  CHECK_THAT(run.output(), Contains("hostile") && Contains(key));
}

}  // namespace

TEST_CASE("the hostile plugin trains unless it is configured to do harm",
          "[containment][slow][nosan]") {
  const HostileRun run("");
  INFO(run.output());
  CHECK(run.exit_code() == 0);
  CHECK(run.state() == "done");
}

TEST_CASE("a program ended by a plugin is a failure that names it", "[containment][slow][nosan]") {
  for (const Location& location : kPlaces) {
    for (const char* how : {"exit", "quick_exit", "_exit", "execl"}) {
      const HostileRun run(fault(location, how));
      check_blamed(run, "hostile/" + location.name);
      CHECK_THAT(run.output(), Contains("the plugin 'hostile' ended the program in " +
                                        location.method + " of its " + location.kind + "\n"));
      CHECK_THAT(run.output(), Contains("file " + run.file() + "\n"));
      CHECK(run.state() != "done");
    }
  }
}

TEST_CASE("unhandled exits of the process are reported, too", "[containment][slow][nosan]") {
  for (const char* how :
       {"_Exit", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve"}) {
    const HostileRun run(fault(kPlaces[0], how));
    INFO(how);
    check_blamed(run, "hostile/" + kPlaces[0].name);
    CHECK_THAT(run.output(), Contains("the plugin 'hostile' ended the program in "));
  }
}

TEST_CASE("a plugin may start programs", "[containment][slow][nosan]") {
  const HostileRun run(fault(kPlaces[0], "forks"));
  INFO(run.output());
  CHECK(run.exit_code() == 0);
  CHECK(run.state() == "done");
}

TEST_CASE("a run whose process disappears is lost, never done", "[containment][slow][nosan]") {
  const HostileRun run(fault(kPlaces[0], "exit_group"));
  INFO(run.output());
  CHECK(run.state() != "done");
  const auto listed = test::trivet("ls " + quoted(run.workdir().string()));
  INFO(listed.output);
  CHECK_THAT(listed.output, Contains("lost"));
}

TEST_CASE("a crash in training names plugin, method, key and location",
          "[containment][slow][nosan]") {
  for (const Location& location : kPlaces) {
    const HostileRun run(fault(location, "segv"));
    check_blamed(run, "hostile/" + location.name);
    CHECK_THAT(run.output(), Contains("the plugin 'hostile' crashed in " + location.method +
                                      " of its " + location.kind + " (SIGSEGV)\n"));
    CHECK_THAT(run.output(), Contains("file " + run.file() + "\n"));
    const std::string at = location.kind == "metric" ? "task" : location.path;
    CHECK_THAT(run.output(), Contains("at   " + at + "\n"));
  }
}

TEST_CASE("exceptions of any type in training name plugin, key and location",
          "[containment][slow]") {
  for (const Location& location : kPlaces) {
    for (const char* how : {"throw", "throw_int"}) {
      const HostileRun run(fault(location, how));
      check_blamed(run, "[plugin hostile, hostile/" + location.name + "]");
      CHECK_THAT(run.output(), Contains("its " + location.method));
      CHECK_THAT(run.output(),
                 Contains(location.kind == "metric" ? "task: " : location.path + ": "));
      if (how == std::string("throw")) CHECK_THAT(run.output(), Contains("the moon is full"));
    }
  }
}

TEST_CASE("a plugin that fails after the first step keeps the records of the run",
          "[containment][slow]") {
  const HostileRun run(fault(kPlaces[0], "throw") + " task.model.layer.fault.after=2");
  check_blamed(run, "training step 3: its fprop failed: the moon is full");
  CHECK(run.state() == "failed");
  CHECK(test::json_of(run.workdir() / "status.json").at("step") == 2);
}

TEST_CASE("methods of metrics other than updates are guarded, too", "[containment][slow]") {
  for (const std::string method : {"result", "reset_state", "save_state"}) {
    const HostileRun run("task.metric.fault.in=" + method + " task.metric.fault.how=throw_int");
    check_blamed(run, "[plugin hostile, hostile/Metric]");
    CHECK_THAT(run.output(), Contains("its " + method));
  }
}

TEST_CASE("a crash or exception in a plugin's thread is attributed to its library",
          "[containment][slow][nosan]") {
  const HostileRun crashed(fault(kPlaces[0], "thread_segv"));
  check_blamed(crashed, "crashed (SIGSEGV)");
  const HostileRun thrown(fault(kPlaces[0], "thread_throw"));
  check_blamed(thrown, "lost thread");
  const HostileRun stopped(fault(kPlaces[0], "noexcept"));
  check_blamed(stopped, "crashed in fprop of its layer (SIGABRT)");
}

TEST_CASE("a null object is an error of the plugin that returned it", "[containment][slow]") {
  struct Case {
    std::string path, method, key;
  };
  for (const Case& c :
       {Case{"task", "build_model", "hostile/Task"}, Case{"task", "build_inputs", "hostile/Task"},
        Case{"task", "build_metrics", "hostile/Task"}, Case{"task", "build_losses", "hostile/Task"},
        Case{"task.model", "fprop", "hostile/Model"},
        Case{"task.model.layer", "fprop", "hostile/Layer"}}) {
    const HostileRun run(c.path + ".fault.in=" + c.method + " " + c.path + ".fault.how=nothing");
    check_blamed(run, "[plugin hostile, " + c.key + "]");
    CHECK_THAT(run.output(), Contains("its " + c.method + " returned no"));
  }
  for (const char* prefetch : {"0", "2"}) {
    const HostileRun run(std::string("task.train_input.fault.in=get_next "
                                     "task.train_input.fault.how=nothing "
                                     "task.train_input.prefetch=") +
                         prefetch);
    check_blamed(run, "[plugin hostile, hostile/Input]");
    CHECK_THAT(run.output(), Contains("gave a batch whose 'x' is no tensor"));
  }
}

TEST_CASE("a backend at fault is named", "[containment][slow][nosan]") {
  for (const char* how :
       {"segv", "exit", "throw", "throw_int", "alloc_throw", "optim_throw", "extension_throw",
        "open_throw", "open_null", "info_zero", "reduce_fails"}) {
    const HostileRun run("trainer.optimizer=optim/Sgd",
                         std::string("TRIVET_TEST_BACKEND_FAULT=") + how + " ");
    check_blamed(run, "hostile/Backend");
    CHECK_THAT(run.output(), !Contains("trivet crashed"));
  }
}

TEST_CASE("an error of a backend names its function", "[containment][slow]") {
  const HostileRun thrown("", "TRIVET_TEST_BACKEND_FAULT=throw ");
  CHECK_THAT(thrown.output(),
             Contains("runtime.backend: training step 1: its reduce failed: the moon is full "
                      "[plugin hostile, hostile/Backend]"));
  const HostileRun number("", "TRIVET_TEST_BACKEND_FAULT=throw_int ");
  CHECK_THAT(number.output(), Contains("its reduce threw something that is not a std::exception"));
}

TEST_CASE("a data file that is truncated while it is read is named", "[containment][slow][nosan]") {
  const HostileRun run("task.train_input.fault.in=get_next task.train_input.fault.how=lost_page");
  INFO(run.output());
  CHECK(run.exit_code() == 1);
  CHECK_THAT(run.output(), Contains("error: /tmp/hostile-") && Contains("SIGBUS"));
}

TEST_CASE("plugins cannot spoil a finished run after its end", "[containment][slow][nosan]") {
  const HostileRun statics("", "TRIVET_TEST_CRASH_AT_END=1 ");
  INFO(statics.output());
  CHECK(statics.exit_code() == 0);
  CHECK(statics.state() == "done");
  for (const char* how : {"segv", "exit"}) {
    const HostileRun run(std::string("task.model.layer.fault.in=destructor "
                                     "task.model.layer.fault.how=") +
                         how);
    INFO(run.output());
    CHECK(run.exit_code() == 0);
    CHECK(run.state() == "done");
    CHECK_THAT(run.output(), Contains("'hostile'") && Contains("all work was done before that"));
  }
}

TEST_CASE("a crash after one of several trainings is not a crash after all work",
          "[containment][slow][nosan]") {
  const HostileRun base("");
  REQUIRE(base.exit_code() == 0);
  const std::string words =
      "--mode continuous_train_and_eval task.init_checkpoint=" + quoted(base.workdir().string()) +
      " ";
  const HostileRun crashed(words +
                           "task.model.layer.fault.in=destructor task.model.layer.fault.how=segv");
  INFO(crashed.output());
  CHECK(crashed.exit_code() == 3);
  CHECK_THAT(crashed.output(), Contains("'hostile'") && !Contains("all work was done"));
  const HostileRun good(words);
  INFO(good.output());
  CHECK(good.exit_code() == 0);
}

TEST_CASE("process-wide changes by a plugin are detected", "[containment][slow]") {
  struct Case {
    std::string how, told;
  };
  std::vector<Case> cases = {{"directory", "the working directory ("},
                             {"locale", "the C++ locale ("},
                             {"c_locale", "the C locale ("},
                             {"library_threads", "the threads of the backend's library (1 -> 2)"}};
#if defined(__x86_64__)
  cases.push_back({"rounding", "the rounding mode of the processor ("});
#endif
  for (const auto& [how, told] : cases) {
    for (const char* in : {"constructor", "fprop"}) {
      const HostileRun run(std::string("task.model.layer.fault.in=") + in +
                           " task.model.layer.fault.how=" + how);
      INFO(run.output());
      CHECK(run.exit_code() == 3);
      CHECK_THAT(run.output(), Contains(told) && Contains("hostile 6.6.6 (" + run.file() + ")"));
    }
  }
}

TEST_CASE("a run stays in its directory when a plugin changes the working directory",
          "[containment][slow]") {
  const test::PluginFolder folder;
  const test::TempDir temp;
  folder.copy("hostile");
  temp.write("hostile.toml", kConfig);
  const auto result = test::shell(
      "cd " + quoted(temp.path().string()) +
      " && TRIVET_PLUGIN_PATH=" + quoted(test::plugin_dir().string()) + " HOME=/nonexistent " +
      quoted(test::program().string()) + " run hostile.toml --workdir run --plugin-dir " +
      quoted(folder.path().string()) + " " + fault(kPlaces[0], "directory") +
      " task.model.layer.fault.after=1 trainer.checkpoint_interval=1 trainer.steps_per_loop=3");
  INFO(result.output);
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.output, Contains("the working directory ("));
  const auto status = test::json_of(temp / "run/status.json");
  CHECK(status.at("state") == "failed");
  CHECK(std::filesystem::exists(temp / "run/checkpoints/step_00000002"));
}

TEST_CASE("a config error found by a constructor is shown at its location", "[containment][slow]") {
  const HostileRun run(
      "task.model.layer.fault.in=constructor task.model.layer.fault.how=config_error");
  INFO(run.output());
  CHECK(run.exit_code() == 2);
  CHECK_THAT(run.output(), Contains("task.model.layer.fault: is odd"));
  CHECK_THAT(run.output(), Contains("error: command line:"));
}

}  // namespace containment_test
