// SPDX-License-Identifier: Apache-2.0
//
// trivet resume ID ...: goes on with what has not ended.
#include <fmt/core.h>

#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "launch/control/unit_control.h"
#include "launch/store/experiment_view.h"

namespace trivet {
namespace {

int run_resume(std::span<const std::string> words) {
  return run_on_experiments(
      words, "resume", [](LaunchedExperiment& experiment, const UnitChoice& chosen) {
        return fmt::format("experiment {}: going on with {}\n", experiment.xid(),
                           units_text(resume_units(experiment, chosen)));
      });
}

}  // namespace

extern const CommandInfo kResumeCommand{
    .name = "resume",
    .usage = "resume ID ...",
    .summary = "Continues the work units that have not ended",
    .details =
        "ID is XID or XID/WID. For after a machine went down, or its supervisor was killed: jobs "
        "that are\n"
        "still running are taken over, those that were lost start again.",
    .options = kExperimentOptions,
    .operand = Operand::path,
    .run = run_resume,
};

}  // namespace trivet
