// SPDX-License-Identifier: Apache-2.0
// The engine mpi/Mpi.
#pragma once

#include "trivet/backend/collective.h"

namespace trivet::mpi {

const tv_collective* engine();

}  // namespace trivet::mpi
