// SPDX-License-Identifier: Apache-2.0
// The task of a process of a run: where the config says that hosts share the data, the process
// reads what its shards need.
#pragma once

#include <cstdint>

#include "trivet/experiment.h"
#include "trivet/task.h"

namespace trivet {

// Processes with the same shards, which share the devices along mdl, read the same rows, so
// num_infeed_hosts becomes the number of different parts of a batch. The global batch stays.
ConfigOf<Task> task_of_process(const ExperimentConfig& experiment, std::int64_t rank);

}  // namespace trivet
