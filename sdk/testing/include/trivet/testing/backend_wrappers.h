// SPDX-License-Identifier: Apache-2.0
// Backends made out of backends, to test what stands above them.
#pragma once

#include "trivet/backend/backend.h"

namespace trivet::testing {

// The same backend as a device whose memory the processor cannot reach: host_visible is 0, and
// every device address is moved to where any access from the host crashes. What runs on it leaves
// device memory to the backend. The table lives as long as the program and keeps `inner`, which
// must too; the same pointer is returned for the same `inner`. At most 16 of them; throws Error
// beyond.
const tv_backend* fake_device(const tv_backend* inner);

// A copy of the table without any optional function, so that everything is composed. Keep it alive
// while it is in use.
tv_backend mandatory_only(const tv_backend& backend);

// A copy of the table without one optional function, or without extensions for "extension". Throws
// Error when there is no such function.
tv_backend without(const tv_backend& backend, const char* kernel);

}  // namespace trivet::testing
