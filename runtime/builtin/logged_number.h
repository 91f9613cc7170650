// SPDX-License-Identifier: Apache-2.0
// The number that an action compares.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trivet/action.h"

namespace trivet {

// Nothing for a counter that training reports only once it is above 0, and for a metric of a data
// set that was not due. Throws RunError, in the name of the action's `type`, if no metric has this
// name.
std::optional<double> logged_number(const ActionEvent& event, const std::string& metric,
                                    std::string_view type);

}  // namespace trivet
