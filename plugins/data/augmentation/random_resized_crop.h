// SPDX-License-Identifier: Apache-2.0
// A random part of an image, which is resized to the size of the batch (Szegedy et al. 2015,
// "Going deeper with convolutions", section 6).
//
// The part has an area uniform in [min_area, max_area] of the image's, and an aspect, width divided
// by height, whose logarithm is uniform (as in torchvision; Model Garden draws the aspect itself).
// Its position is uniform. Where no draw fits, it is the largest part in the middle whose aspect
// is between min_aspect and max_aspect, as in torchvision.
#pragma once

#include <cstdint>

#include "data/augmentation/augment_config.h"
#include "data/augmentation/draws.h"

namespace trivet::data {

// A rectangle of an image, in pixels.
struct Crop {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// Of an image of this size, at least 1 x 1.
Crop random_resized_crop(const RandomResizedCropConfig& config, Draws draws, std::int64_t height,
                         std::int64_t width);

// The square in the middle whose side is a share of the image's shorter side, rounded down, at
// least 1 (Model Garden's center crop: 0.875 is 224 of 256).
Crop center_crop(double fraction, std::int64_t height, std::int64_t width);

}  // namespace trivet::data
