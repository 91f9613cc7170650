// SPDX-License-Identifier: Apache-2.0
// For layers that mix all positions of a row.
#pragma once

#include <string>
#include <string_view>

#include "trivet/layer.h"

namespace trivet::nn {

// Throws UsageError if a row of the context has several texts. Reads the segment ids on the host.
void refuse_packed(std::string_view layer, const std::string& path, const FpropContext& context);

}  // namespace trivet::nn
