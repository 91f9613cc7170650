// SPDX-License-Identifier: Apache-2.0
// Fields shared by Conv2d and the pools: windows that slide over images.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trivet/config.h"
#include "trivet/ops/ops_vision.h"

namespace trivet::nn {

// What happens at the border of an image; see trivet/ops/ops_vision.h.
enum class Border {
  same,       // zeros around, so that the output has ceil(input / stride) positions
  valid,      // the window stays inside
  explicit_,  // `pad` zeros on every side
};
TRIVET_ENUM(Border, same, valid, explicit_)

// One number is used for both axes: {3} is 3 x 3.
std::array<std::int64_t, 2> pair_of(const std::vector<std::int64_t>& numbers);

// Reports a list without one or two numbers.
void check_pair(Diagnostics& diagnostics, std::string_view field,
                const std::vector<std::int64_t>& numbers);
// Reports a pad that the padding mode does not use.
void check_pad(Diagnostics& diagnostics, Border padding, const std::vector<std::int64_t>& pad);

Padding padding_of(Border border);

}  // namespace trivet::nn
