// SPDX-License-Identifier: Apache-2.0
//
// The fields of a config file.
#pragma once

#include "trivet/config/schema.h"

namespace trivet {

// Those of ExperimentConfig and the ones used up by resolution. [xp] is free: a run ignores it.
const Schema& config_file_schema();
// The same with the fields of [xp], for launching.
const Schema& launch_file_schema();
// Without those of ExperimentConfig: of a file that launches programs of all kinds.
const Schema& plain_launch_schema();

}  // namespace trivet
