// SPDX-License-Identifier: Apache-2.0
// Windows over images and volumes: where they lie along each axis, by TensorFlow's rules, and what
// their operands must be. All throw Error that starts with "[op]".
#pragma once

#include <cstdint>
#include <span>

#include "trivet/backend/kernels/vision.h"
#include "trivet/ops/ops_vision.h"

namespace trivet {

struct WindowAxis {
  std::int64_t in, window, stride, dilation, pad, out;  // pad: in front of the first element

  // From the first element of a window to its last.
  std::int64_t reach() const { return dilation * (window - 1) + 1; }
  // Padding after the last element, as far as windows reach.
  std::int64_t pad_behind() const;
};

// For a window that does not fit and numbers that make no sense, an Error.
WindowAxis window_axis(const char* op, std::int64_t in, std::int64_t window, std::int64_t stride,
                       std::int64_t dilation, Padding padding, std::int64_t pad);

// For images [B, H, W, C].
tv_conv2d_shape window_shape(const char* op, const Shape& image, std::array<std::int64_t, 2> window,
                             std::int64_t out_channels, const WindowOptions& options);

// x [B, spatial axes.., Cin], filters w [their extents.., Cin / groups, Cout] and bias b [Cout];
// activations with a gate do not fit.
void check_filters(const char* op, int spatial_axes, const Tensor& x, const Tensor& w,
                   const Tensor& b, std::int64_t groups, Activation act);

// A window that sees no pixel has nothing to pool, and groups of channels mean nothing to pooling.
void check_pooling(const char* op, std::span<const WindowAxis> axes, std::int64_t groups);

}  // namespace trivet
