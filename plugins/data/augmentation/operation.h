// SPDX-License-Identifier: Apache-2.0
// One operation of a policy, by its name and magnitude (0 to 10), with Model Garden's scale of
// each:
//
//   AutoContrast, Equalize, Invert           the magnitude is not used
//   Rotate                                   3 m degrees, either way
//   Posterize                                0.4 m bits are kept, cut to an integer, at least 1
//   Solarize                                 from the threshold 25.6 m, cut to an integer
//   SolarizeAdd                              11 m, cut to an integer, is added
//   Color, Contrast, Brightness, Sharpness   the factor 0.1 + 0.18 m
//   ShearX, ShearY                           the slope 0.03 m, either way
//   TranslateX, TranslateY                   0.1 m translate_const pixels, rounded, either way
//   Cutout                                   a square of half the side 0.1 m cutout_const, cut to an
//                                            integer, about a random pixel
//
// So a larger magnitude of Posterize and Solarize changes less, and that of an enhancement nothing
// at 5.
#pragma once

#include "data/augmentation/augment_config.h"
#include "data/augmentation/draws.h"
#include "data/augmentation/image_bytes.h"
#include "data/augmentation/operation_reach.h"

namespace trivet::data {

bool uses_magnitude(ImageOperation operation);
// Whether it needs the gray of a pixel, so images of 1 or 3 channels.
bool needs_gray(ImageOperation operation);

void apply_operation(ImageOperation operation, double magnitude, const OperationReach& reach,
                     Draws& draws, ImageBytes image);

}  // namespace trivet::data
