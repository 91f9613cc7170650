// SPDX-License-Identifier: Apache-2.0
// gather_states: the states of all shards of a mesh, from those of this process.
#pragma once

#include <vector>

#include "trivet/backend/process_group.h"
#include "trivet/config/value.h"

namespace trivet {

// In the order of the mesh. All processes of the group make this call; null: this process has all.
// [run-thread]
std::vector<Value> gather_states(ProcessGroup* group, std::vector<Value> own);

}  // namespace trivet
