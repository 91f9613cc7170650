// SPDX-License-Identifier: Apache-2.0
// trivet cancel ID ...: cancels work units.
#include <fmt/core.h>

#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "launch/control/unit_control.h"
#include "launch/store/experiment_view.h"

namespace trivet {
namespace {

int run_cancel(std::span<const std::string> words) {
  return run_on_experiments(words, "cancel",
                            [](LaunchedExperiment& experiment, const UnitChoice& chosen) {
                              return fmt::format("experiment {}: {} cancelled\n", experiment.xid(),
                                                 units_text(cancel_units(experiment, chosen)));
                            });
}

}  // namespace

extern const CommandInfo kCancelCommand{
    .name = "cancel",
    .usage = "cancel ID ...",
    .summary = "Cancels the jobs of an experiment or a work unit",
    .details =
        "ID is XID or XID/WID. Each job gets SIGTERM and some time to save, then SIGKILL. Jobs\n"
        "that have ended do not change. 'trivet retry' starts cancelled jobs again.",
    .options = kExperimentOptions,
    .operand = Operand::path,
    .run = run_cancel,
};

}  // namespace trivet
