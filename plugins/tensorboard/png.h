// SPDX-License-Identifier: Apache-2.0
// Images as PNG files in memory.
#pragma once

#include <string>

#include "trivet/layer/summaries.h"

namespace trivet::tensorboard {

// Throws Error for an image without pixels, or whose pixels are not height * width * channels.
std::string encode_png(const Image& image);

}  // namespace trivet::tensorboard
