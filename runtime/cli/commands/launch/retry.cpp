// SPDX-License-Identifier: Apache-2.0
// trivet retry ID ...: restarts failed jobs.
#include <fmt/core.h>

#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "launch/control/unit_control.h"
#include "launch/store/experiment_view.h"

namespace trivet {
namespace {

int run_retry(std::span<const std::string> words) {
  return run_on_experiments(words, "retry",
                            [](LaunchedExperiment& experiment, const UnitChoice& chosen) {
                              return fmt::format("experiment {}: {} restarted\n", experiment.xid(),
                                                 units_text(retry_units(experiment, chosen)));
                            });
}

}  // namespace

extern const CommandInfo kRetryCommand{
    .name = "retry",
    .usage = "retry ID ...",
    .summary = "Restarts jobs that failed, were lost or were cancelled",
    .details =
        "ID is XID or XID/WID. Completed jobs do not change. A run continues from its last\n"
        "checkpoint.",
    .options = kExperimentOptions,
    .operand = Operand::path,
    .run = run_retry,
};

}  // namespace trivet
