// SPDX-License-Identifier: Apache-2.0
// Encodes images as PNG files in memory.
#pragma once

#include <string>

#include "trivet/layer/summaries.h"

namespace trivet::tensorboard {

// Throws Error if the image is empty or has other than height * width * channels pixels.
std::string encode_png(const Image& image);

}  // namespace trivet::tensorboard
