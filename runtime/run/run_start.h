// SPDX-License-Identifier: Apache-2.0
// What every run does before its first step, whichever its mode.
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

// The fields every trainer has, whatever a derived config adds.
TrainerConfig trainer_fields(const ConfigOf<Trainer>& config);

// Throws ConfigError for a mode that trains without a target.
void check_before_start(const ResolvedConfig& config, const TrainerConfig& trainer);

// The device that `runtime` names, with its threads. Throws as the registry and the backend do.
std::unique_ptr<Device> open_device(const RunRequest& request);
// a meta device (trivet/tensor/meta_device.h) with the functions of that one, and no limit of
// memory.
std::unique_ptr<Device> open_meta_device_for(const ResolvedConfig& config);

// One session in a directory; its exit code. What goes wrong is put on record there and thrown
// again. `done`, where the session is all that was asked for, is said before the session's objects
// go; `eval_logs`, where given, receives those of the last evaluation.
int run_in(const RunRequest& request, const RunLocation& location, Device& device,
           const TrainerConfig& fields, const StopSignals& signals, RunView& view,
           std::optional<WorkIsDone>* done, Logs* eval_logs = nullptr);

}  // namespace trivet
