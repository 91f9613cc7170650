// SPDX-License-Identifier: Apache-2.0
// The steps of every run before its first training step, in any mode.
#pragma once

#include <memory>
#include <optional>

#include "base/stop_signals.h"
#include "config/resolver.h"
#include "host/crash_report.h"
#include "run/run_command.h"
#include "rundir/run_directory.h"
#include "trivet/tensor/device.h"
#include "trivet/train/logs.h"
#include "trivet/trainer.h"

namespace trivet {

// The fields that every trainer has.
TrainerConfig trainer_fields(const ConfigOf<Trainer>& config);

// Throws ConfigError if the mode trains but no target step is set.
void check_before_start(const ResolvedConfig& config, const TrainerConfig& trainer);

// Opens the device that `runtime` names, with its threads. Throws the errors of the registry and
// the backend.
std::unique_ptr<Device> open_device(const RunRequest& request);
// a meta device (trivet/tensor/meta_device.h) with the functions of that one, and no limit of
// memory.
std::unique_ptr<Device> open_meta_device_for(const ResolvedConfig& config);

// Runs one session in a directory and returns its exit code. Errors are recorded there and
// rethrown. `done`, if the session is the whole command, is called before the session's objects are
// destroyed. `eval_logs`, if given, receives the metrics of the last evaluation.
int run_in(const RunRequest& request, const RunLocation& location, Device& device,
           const TrainerConfig& fields, const StopSignals& signals, RunView& view,
           std::optional<WorkIsDone>* done, Logs* eval_logs = nullptr);

}  // namespace trivet
