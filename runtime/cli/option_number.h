// SPDX-License-Identifier: Apache-2.0
// Whole numbers as values of options.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "trivet/config/arguments.h"

namespace trivet {

// Empty if the option was not given. Throws UsageError unless it is from `least` to `most`.
std::optional<std::int64_t> option_number(
    const Arguments& arguments, std::string_view option, std::int64_t least,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace trivet
