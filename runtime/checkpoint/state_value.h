// SPDX-License-Identifier: Apache-2.0
// Reads the state in a checkpoint.
#pragma once

#include <string_view>

#include "trivet/config/value.h"

namespace trivet {

// The member of a table. Throws RunError with the key if it is missing.
const Value& member(const Value& table, std::string_view key);

}  // namespace trivet
