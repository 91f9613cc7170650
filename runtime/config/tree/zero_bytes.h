// SPDX-License-Identifier: Apache-2.0
// Zero bytes in strings: words of a command line and file names end at the first one.
#pragma once

#include <string>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Adds an error for every string and key at or below `value` that contains one.
void refuse_zero_bytes(const Value& value, const std::string& path, Diagnostics& diagnostics);

}  // namespace trivet
