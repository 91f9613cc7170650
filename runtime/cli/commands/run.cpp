// SPDX-License-Identifier: Apache-2.0
// trivet run CONFIG [K=V ...]
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/core.h>

#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/view/progress.h"
#include "config/config_arguments.h"
#include "config/modes.h"
#include "launch/store/experiment_id.h"
#include "processes/launcher_task.h"
#include "processes/run_engine.h"
#include "processes/start_run.h"
#include "processes/world.h"
#include "run/run_arguments.h"
#include "run/run_command.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// The launcher reads from this file that the run is done, because another process may also exit
// with code 0. The variable is removed so that child processes do not write the file.
class DoneFile {
 public:
  DoneFile() {
    if (const char* named = std::getenv(launch::kDoneFileVariable)) file_ = named;
    ::unsetenv(launch::kDoneFileVariable);
  }
  // The processes of the run make it.
  void hand_on() const {
    if (!file_.empty()) ::setenv(launch::kDoneFileVariable, file_.c_str(), 1);
  }
  // `words`: the reason if the run ended early.
  void make(const std::string& words) const {
    if (!file_.empty()) replace_file(file_, words, Durability::cached);
  }

 private:
  std::filesystem::path file_;
};

std::optional<std::int64_t> asked_step(const ConfigArguments& given, Mode mode) {
  const std::string* text = given.arguments.last("step");
  if (text == nullptr) return std::nullopt;
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), step);
  if (failure != std::errc() || end != text->data() + text->size() || step < 0) {
    throw UsageError("--step takes a whole number of at least 0, not '" + *text + "'");
  }
  if (!evaluates_once(mode)) {
    throw UsageError("--step requires --mode eval",
                     {.hint = "training continues from the newest checkpoint; task.init_checkpoint "
                              "starts a new run from any"});
  }
  return step;
}

std::string evaluation_name(const ConfigArguments& given, Mode mode) {
  const std::string* name = given.arguments.last("eval-name");
  if (name == nullptr) return {};
  if (!follows(mode)) throw UsageError("--eval-name requires --mode continuous_eval");
  if (is_evaluation_name(*name)) return *name;
  throw UsageError("--eval-name takes letters, digits, '_', '-' and '.', not '" + *name + "'");
}

std::optional<StepRange> asked_profile(const ConfigArguments& given, Mode mode) {
  const std::string* text = given.arguments.last("profile");
  if (text == nullptr) return std::nullopt;
  if (!trains(mode)) {
    throw UsageError("--profile requires a mode that trains",
                     {.hint = "--mode train, for instance, with a new --workdir"});
  }
  return step_range_of(*text);
}

bool is_of_many(const ExperimentConfig& experiment) {
  return trains(experiment.mode) && experiment.mesh.processes > 1;
}

// This process as one of those that a launcher has started.
std::unique_ptr<World> join(const RunEngine& engine, const MeshConfig& mesh) {
  if (engine.size != mesh.processes) {
    throw ConfigError(
        Diagnostic{.path = "mesh.processes",
                   .what = fmt::format("is {}, and this is process {} of {} that {} has started",
                                       mesh.processes, engine.rank, engine.size, engine.key),
                   .hint = "start as many: trivet run --processes N does, srun needs --mpi=pmix; "
                           "mesh.processes=1 gives the same results from one process"});
  }
  auto world = std::make_unique<World>(*engine.engine, engine.key);
  if (world->size() == engine.size) return world;
  throw ConfigError(
      Diagnostic{.path = "mesh.processes",
                 .what = fmt::format("is {}, and process {} finds only {} of them by {}",
                                     mesh.processes, engine.rank, world->size(), world->name()),
                 .hint = "srun needs --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH"});
}

// Whether another process of the same run reports errors. Launchers also start many runs of one
// process each, so that the words must ask for processes.
bool is_follower(HostCatalog& catalog, std::span<const std::string> words) {
  const bool asks = std::ranges::any_of(words, [](const std::string& word) {
    return word.starts_with("--processes") || word.starts_with("mesh.processes=");
  });
  if (!asks) return false;
  try {
    const RunEngine engine = run_engine({}, catalog.keys("collective"));
    return (engine.is_launched() ? engine.rank : launcher_task().rank) > 0;
  } catch (const Error&) {
    return false;
  }
}

// A warning about a launcher that has started several runs of one process each; empty where it has
// not, and in all but one of them.
std::string lone_runs(const ExperimentConfig& experiment) {
  const LauncherTask task = launcher_task();
  const bool are_several = trains(experiment.mode) && experiment.mesh.processes == 1;
  if (!are_several || task.size == 1 || task.rank > 0) return {};
  return fmt::format(
      "{0} has started {1} processes, and mesh.processes is 1: each is a run of its "
      "own; mesh.processes={1} makes them one",
      task.launcher, task.size);
}

int run_config(const ConfigArguments& given, HostCatalog& catalog,
               std::span<const std::string> words) {
  const DoneFile done;
  RunRequest request;
  request.config = resolve_config(given.request, catalog);
  if (const std::string* workdir = given.arguments.last("workdir")) {
    // Most likely an unset variable; the run would use the wrong directory.
    if (workdir->empty()) throw UsageError("--workdir is empty");
    request.workdir = *workdir;
  }
  request.root = experiments_root(given.arguments.last("root"));
  request.name = std::filesystem::path(given.source).stem().string();
  request.source = given.source;
  request.step = asked_step(given, request.config.experiment.mode);
  request.evaluation = evaluation_name(given, request.config.experiment.mode);
  request.profile = asked_profile(given, request.config.experiment.mode);
  const ExperimentConfig& experiment = request.config.experiment;
  if (given.arguments.has("processes") && !trains(experiment.mode)) {
    throw UsageError("--processes requires a mode that trains",
                     {.hint = "an evaluation is one process"});
  }
  std::unique_ptr<World> world;
  if (is_of_many(experiment)) {
    const RunEngine engine = run_engine(experiment.mesh, catalog.keys("collective"));
    refuse_lone_tasks(engine, experiment.mesh);
    if (!engine.is_launched()) {
      check_config(request.config);
      done.hand_on();
      return start_run(engine, static_cast<int>(experiment.mesh.processes), words);
    }
    world = join(engine, experiment.mesh);
    request.world = world.get();
  }
  Terminal terminal = detect_terminal();
  if (given.arguments.has("quiet")) terminal.style = OutputStyle::quiet;
  Progress progress(terminal);
  if (const std::string text = lone_runs(experiment); !text.empty()) progress.warn(text);
  std::string stop_reason;
  request.stop_reason = &stop_reason;
  const int code = run_command(request, progress);
  if (code == 0 && (world == nullptr || world->rank() == 0)) done.make(stop_reason);
  return code;
}

int run_run(std::span<const std::string> words) {
  const ConfigArguments given = parse_run_arguments(words);
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  try {
    return run_config(given, catalog, words);
  } catch (const Error& failure) {
    if (!is_follower(catalog, words)) throw;
    return failure.exit_code();
  }
}

}  // namespace

extern const CommandInfo kRunCommand{
    .name = "run",
    .usage = "run CONFIG [K=V ...]",
    .summary = "Trains, evaluates or both, depending on the config's mode",
    .details =
        "A run keeps everything in its directory and continues from its last checkpoint when it\n"
        "is started again with --workdir. Ctrl-C saves and stops (exit code 130); so do SIGTERM,\n"
        "SIGUSR1, SIGUSR2 and SIGXCPU (75). A second Ctrl-C or SIGTERM stops at once.",
    .options = kRunOptions,
    .operand = Operand::config,
    .more_details = modes_text,
    .run = run_run,
};

}  // namespace trivet
