// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/augmentation/random_resized_crop.h"
#include "data/images/image_file.h"

namespace trivet::data {

// A part of the image in another size. Bilinear with pixel centers at half integers and no
// antialiasing (as PyTorch's interpolate with align_corners = False), rounded to the nearest.
// Pixels outside of the part have no influence.
Pixels resized(const Pixels& image, const Crop& part, std::int64_t height, std::int64_t width);

// The whole image.
Pixels resized(const Pixels& image, std::int64_t height, std::int64_t width);

}  // namespace trivet::data
