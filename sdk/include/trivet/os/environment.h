// SPDX-License-Identifier: Apache-2.0
// Variables of this process's environment.
#pragma once

#include <optional>

#include "trivet/base/export.h"

namespace trivet {

// A whole number of at least 0. Nothing for a variable that is not set or has another text.
// [any-thread]
TRIVET_API std::optional<int> environment_number(const char* variable);

}  // namespace trivet
