// SPDX-License-Identifier: Apache-2.0
// Shapes of windows over images: output extents and padding by TensorFlow's rules.
#pragma once

#include "trivet/extensions/vision.h"
#include "trivet/ops_vision.h"

namespace trivet {

// Throws Error, starting with "[op]", for a window that does not fit or numbers that make no sense.
tv_conv2d_shape window_shape(const char* op, const Shape& image, std::array<std::int64_t, 2> window,
                             std::int64_t out_channels, const WindowOptions& options);

}  // namespace trivet
