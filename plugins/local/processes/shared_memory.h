// SPDX-License-Identifier: Apache-2.0
// The engine local/SharedMemory: processes of one machine, without MPI.
#pragma once

#include "trivet/backend/collective.h"

namespace trivet::local {

const tv_collective* shared_memory();

}  // namespace trivet::local
