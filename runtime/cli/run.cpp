// SPDX-License-Identifier: Apache-2.0
//
// trivet run CONFIG [K=V ...]
#include "train/run.h"

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/host_catalog.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnRunOptions[] = {
    {.name = "workdir",
     .letter = 'w',
     .value = "DIR",
     .doc = "The run's directory; what it holds is continued. Default: the next runs/N-NAME",
     .other_names = "model_dir job_log_dir"},
    {.name = "mode",
     .value = "MODE",
     .doc = "train, eval, train_and_eval, train_and_post_eval, continuous_eval or "
            "continuous_train_and_eval; the same as mode=MODE"},
    {.name = "quiet", .letter = 'q', .doc = "Print warnings and errors only"},
};
constexpr auto kRunOptions = with_config_options(kOwnRunOptions);

int run_run(std::span<const std::string> words) {
  ConfigArguments given = parse_config_arguments(words, kRunOptions);
  add_override(given, "mode", "mode");
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  RunRequest request;
  request.config = resolve_config(given.request, catalog);
  if (const std::string* workdir = given.arguments.last("workdir")) {
    // Most likely a variable that is not set; another directory than the one meant would be used.
    if (workdir->empty()) throw UsageError("--workdir names no directory: it is empty");
    request.workdir = *workdir;
  }
  request.name = std::filesystem::path(given.source).stem().string();
  request.source = given.source;
  request.quiet = given.arguments.has("quiet");
  return run_command(request);
}

}  // namespace

const CommandInfo kRunCommand{
    .name = "run",
    .usage = "run CONFIG [K=V ...]",
    .summary = "Trains, evaluates or both, as the config's mode says",
    .details =
        "A run keeps everything in its directory and continues from its last checkpoint when it\n"
        "is started again with --workdir. Ctrl-C saves and stops (exit code 130); so do SIGTERM\n"
        "and SIGUSR1 (75). A second Ctrl-C stops at once.\n\n"
        "With --mode continuous_eval it follows the run of another process in --workdir, "
        "evaluates\n"
        "its newest checkpoints and ends with it; what it finds goes to continuous_eval/ there.\n"
        "With --mode continuous_train_and_eval it follows the run that task.init_checkpoint names\n"
        "and trains from each of its checkpoints, in from_step_N/ of its own directory.",
    .options = kRunOptions,
    .operand = Operand::config,
    .run = run_run,
};

}  // namespace trivet
