// SPDX-License-Identifier: Apache-2.0
// Random brightness, contrast and saturation, in this order, each with a factor from [max(0, 1 -
// x), 1 + x] (Model Garden's color_jitter; torchvision's ColorJitter has a random order).
#pragma once

#include "data/augmentation/augment_config.h"
#include "data/augmentation/draws.h"
#include "data/augmentation/image_bytes.h"

namespace trivet::data {

class ColorJitter {
 public:
  explicit ColorJitter(const ColorJitterConfig& config) : config_(config) {}

  bool active() const {
    return config_.brightness > 0 || config_.contrast > 0 || config_.saturation > 0;
  }
  void apply(Draws draws, ImageBytes image) const;

 private:
  ColorJitterConfig config_;
};

}  // namespace trivet::data
