// SPDX-License-Identifier: Apache-2.0
// trivet resume ID ...: continues work units that have not ended.
#include <fmt/core.h>

#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "launch/control/unit_control.h"
#include "launch/store/experiment_view.h"

namespace trivet {
namespace {

int run_resume(std::span<const std::string> words) {
  return run_on_experiments(words, "resume",
                            [](LaunchedExperiment& experiment, const UnitChoice& chosen) {
                              return fmt::format("experiment {}: continuing {}\n", experiment.xid(),
                                                 units_text(resume_units(experiment, chosen)));
                            });
}

}  // namespace

extern const CommandInfo kResumeCommand{
    .name = "resume",
    .usage = "resume ID ...",
    .summary = "Continues the work units that have not ended",
    .details =
        "ID is XID or XID/WID. Use it after a machine failed or the supervisor was killed. The\n"
        "new supervisor adopts jobs that are still running and restarts jobs that were lost.",
    .options = kExperimentOptions,
    .operand = Operand::path,
    .run = run_resume,
};

}  // namespace trivet
