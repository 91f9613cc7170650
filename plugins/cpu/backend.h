// SPDX-License-Identifier: Apache-2.0
// The function table of the backend cpu/Highway.
#pragma once

#include <trivet/backend/backend.h>

namespace cpu {

// Returns the same pointer on every call, valid until the program ends.
const tv_backend* get();

}  // namespace cpu
