// SPDX-License-Identifier: Apache-2.0
// The plans of memory that a Device makes of its steps (trivet/tensor/device.h).
#pragma once

#include "trivet/base/export.h"

namespace trivet {

class Device;  // trivet/tensor/device.h

// Between two steps, when the next ones are known to need other memory: it is recorded as the first
// one was, without the memory of a plan beside it. [run-thread]
TRIVET_API void forget_step_plans(Device& device);

}  // namespace trivet
