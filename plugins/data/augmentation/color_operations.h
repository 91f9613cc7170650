// SPDX-License-Identifier: Apache-2.0
// Operations on the values of an image of bytes, in place. They are those of PIL's ImageOps and
// ImageEnhance on images of the modes L and RGB.
//
// The gray of a pixel is 0.299 R + 0.587 G + 0.114 B, rounded; of one channel, the value. Images of
// other numbers of channels have no gray: color() and contrast() must not be called for them.
//
// A factor blends the image v with another one d: d + factor * (v - d), limited to 0 to 255 and cut
// to an integer. So 1 leaves the image as it is, 0 gives d, and a factor above 1 exaggerates.
#pragma once

#include "data/augmentation/image_bytes.h"

namespace trivet::data {

// Stretches each channel to 0 to 255: 255 (v - low) / (high - low) for its lowest and highest
// value, cut to an integer. A channel of one value stays as it is.
void auto_contrast(ImageBytes image);

// Gives each channel about as many pixels of each value: v becomes (n / 2 + the number of lower
// values) / n, for n = (pixels - those of the highest value) / 255 in integers. A channel for which
// n is 0 or which has one value stays as it is.
void equalize(ImageBytes image);

void invert(ImageBytes image);                      // 255 - v
void posterize(ImageBytes image, int bits);         // the upper `bits` of v, 1 to 8
void solarize(ImageBytes image, int threshold);     // 255 - v for v >= threshold
void solarize_add(ImageBytes image, int addition);  // v + addition, at most 255, for v < 128

void brightness(ImageBytes image, float factor);  // blended with black
void contrast(ImageBytes image, float factor);    // with the rounded mean of the image's gray
void color(ImageBytes image, float factor);       // with the gray of each pixel; saturation
// With the image smoothed by [1 1 1; 1 5 1; 1 1 1] / 13, rounded. Pixels at the border stay as they
// are.
void sharpness(ImageBytes image, float factor);

}  // namespace trivet::data
