// SPDX-License-Identifier: Apache-2.0
// Random Erasing (Zhong et al. 2017): rectangles of an image become noise.
//
// A rectangle has an area S, uniform in [min_area, max_area] of the image's, and an aspect r, whose
// logarithm is uniform (as in Model Garden and torchvision; the paper draws r itself): height
// sqrt(S r), width sqrt(S / r), rounded to pixels. Its position is uniform over all in the image.
#pragma once

#include <cstdint>
#include <span>

#include "data/augmentation/augment_config.h"
#include "data/augmentation/draws.h"

namespace trivet::data {

class RandomErasing {
 public:
  // Of images [height, width, channels].
  RandomErasing(const RandomErasingConfig& config, std::int64_t height, std::int64_t width,
                std::int64_t channels);

  void apply(Draws draws, std::span<float> image) const;

 private:
  void erase(Draws& draws, std::span<float> image) const;

  RandomErasingConfig config_;
  std::int64_t height_, width_, channels_;
};

}  // namespace trivet::data
