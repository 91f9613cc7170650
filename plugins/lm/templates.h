// SPDX-License-Identifier: Apache-2.0
// Templates of layers, completed by the model around them.
#pragma once

#include <string_view>

#include "trivet/layer.h"

namespace trivet::lm {

// Sets a field that the template leaves out, or at 0 or at `unset`, its default; a value of 0,
// false or null sets nothing, so that layers need not have a field that is not used.
void complete(ConfigOf<Layer>& layer, std::string_view field, Value value, const Value& unset = {});

}  // namespace trivet::lm
