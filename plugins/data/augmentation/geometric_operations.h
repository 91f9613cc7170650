// SPDX-License-Identifier: Apache-2.0
// Operations that move the pixels of an image of bytes, in place.
//
// Pixel [y, x] covers the square from (x, y) to (x + 1, y + 1), so its center is at (x + 1/2, y +
// 1/2), as in PIL. A pixel takes the value of the pixel that covers the source of its center (the
// nearest one), or kFill where the source is not in the image.
#pragma once

#include "data/augmentation/image_bytes.h"

namespace trivet::data {

inline constexpr std::uint8_t kFill = 128;  // gray, as in AutoAugment

// Counterclockwise about the center of the image, (width / 2, height / 2).
void rotate(ImageBytes image, double degrees);
// The source of (x, y) is (x + slope * y, y); the upper edge stays where it is.
void shear_x(ImageBytes image, double slope);
// (x, y + slope * x); the left edge stays.
void shear_y(ImageBytes image, double slope);
// (x + pixels, y): to the left, if positive.
void translate_x(ImageBytes image, std::int64_t pixels);
// (x, y + pixels): up, if positive.
void translate_y(ImageBytes image, std::int64_t pixels);
// Fills the square of 2 * half pixels from [y - half, x - half], as far as it is in the image.
void cutout(ImageBytes image, std::int64_t y, std::int64_t x, std::int64_t half);

}  // namespace trivet::data
