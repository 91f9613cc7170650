// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/color_jitter.h"

#include <algorithm>

#include "data/augmentation/color_operations.h"

namespace trivet::data {

void ColorJitter::apply(Draws draws, ImageBytes image) const {
  const auto factor = [&](double reach) {
    return static_cast<float>(draws.uniform(std::max(0.0, 1 - reach), 1 + reach));
  };
  const float bright = factor(config_.brightness), contrasting = factor(config_.contrast),
              saturated = factor(config_.saturation);
  if (config_.brightness > 0) brightness(image, bright);
  if (config_.contrast > 0) contrast(image, contrasting);
  if (config_.saturation > 0) color(image, saturated);
}

}  // namespace trivet::data
