// SPDX-License-Identifier: Apache-2.0
#include "trivet/command.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
Command::~Command() = default;
CommandContext::~CommandContext() = default;
TrainedRun::~TrainedRun() = default;

}  // namespace trivet
