// SPDX-License-Identifier: Apache-2.0
// What the magnitude 10 of an operation means, in pixels.
#pragma once

#include <cstdint>
#include <optional>

namespace trivet::data {

struct OperationReach {
  double translate_x, translate_y;
  double cutout;  // half of the side

  // Those of the config, or else 100 and 40 for 224 pixels, in proportion to the image's width,
  // height and shorter side.
  OperationReach(const std::optional<double>& translate_const,
                 const std::optional<double>& cutout_const, std::int64_t height,
                 std::int64_t width);
};

}  // namespace trivet::data
