// SPDX-License-Identifier: Apache-2.0
//
// Zero bytes in texts: words of a command line and names of files end at the first.
#pragma once

#include <string>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Adds a problem for every text and key at or below `value` that has one.
void refuse_zero_bytes(const Value& value, const std::string& path, Diagnostics& diagnostics);

}  // namespace trivet
