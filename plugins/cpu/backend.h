// SPDX-License-Identifier: Apache-2.0
// The table of the backend cpu/OpenBlas.
#pragma once

#include <trivet/backend/backend.h>

namespace cpu {

// Lives as long as the program; the same pointer on every call.
const tv_backend* get();

}  // namespace cpu
