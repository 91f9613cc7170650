// SPDX-License-Identifier: Apache-2.0
// Fields shared by convolutions and pools: windows that slide over images or volumes.
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

// One number is used for all axes: {3} is 3 x 3.
std::array<std::int64_t, 2> pair_of(const std::vector<std::int64_t>& numbers);
std::array<std::int64_t, 3> triple_of(const std::vector<std::int64_t>& numbers);

// Reports a list without one or two numbers.
void check_pair(Diagnostics& diagnostics, std::string_view field,
                const std::vector<std::int64_t>& numbers);
// Reports a list without one or three numbers.
void check_triple(Diagnostics& diagnostics, std::string_view field,
                  const std::vector<std::int64_t>& numbers);
// Reports groups that do not divide the channels of the input and of the output.
void check_groups(Diagnostics& diagnostics, std::int64_t groups, std::int64_t input_dims,
                  std::int64_t output_dims);
// Reports a pad that the padding mode does not use; check_pad also one that is no pair.
void check_pad_use(Diagnostics& diagnostics, Border padding, const std::vector<std::int64_t>& pad);
void check_pad(Diagnostics& diagnostics, Border padding, const std::vector<std::int64_t>& pad);

Padding padding_of(Border border);

}  // namespace trivet::nn
