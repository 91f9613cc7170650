// SPDX-License-Identifier: Apache-2.0
// What the other processes of a run do while rank 0 leads (lead_trainer.h). They write nothing but
// their parts of checkpoints.
#pragma once

#include "base/stop_signals.h"
#include "config/resolver.h"
#include "processes/world.h"
#include "trivet/tensor/device.h"
#include "trivet/trainer.h"

namespace trivet {

// Builds task and trainer as rank 0 does, which broadcasts the directory of a run that continues,
// or nothing; and follows it to the end of the run. Returns the exit code. Tells rank 0 a failure,
// which reports it. `fields` are those of the trainer.
int follow_run(const ResolvedConfig& config, const TrainerConfig& fields, Device& device,
               const StopSignals& signals, World& world);

// Throws ConfigError on all processes unless their config, version, plugins and backend are equal.
// All of them make this call.
void check_same(const ResolvedConfig& config, const Device& device, World& world);

}  // namespace trivet
