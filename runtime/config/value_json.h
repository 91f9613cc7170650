// SPDX-License-Identifier: Apache-2.0
// A Value as a tree of JSON, members in their order. JSON has no NaN and no infinity; those become
// {"$number": "nan"}, "inf" or "-inf".
#pragma once

#include <nlohmann/json.hpp>

#include "trivet/value.h"

namespace trivet {

inline constexpr const char* kSpecialNumberKey = "$number";

nlohmann::ordered_json json_of(const Value& value);

}  // namespace trivet
