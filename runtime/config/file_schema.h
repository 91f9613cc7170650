// SPDX-License-Identifier: Apache-2.0
// The fields of a config file.
#pragma once

#include "trivet/config/schema.h"

namespace trivet {

// The fields of ExperimentConfig and those that resolution removes. [xp] is a free table: a run
// ignores it.
const Schema& config_file_schema();
// The same with the fields of [xp], for launching.
const Schema& launch_file_schema();
// Without the fields of ExperimentConfig: for a file that launches other programs.
const Schema& plain_launch_schema();

}  // namespace trivet
