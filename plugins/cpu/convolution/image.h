// SPDX-License-Identifier: Apache-2.0
// Windows over images for the convolution kernels: a copy of one image with its zero padding, in
// which every tap of every window has a fixed distance from the window's first pixel.
#pragma once

#include <trivet/backend/kernels/vision.h>

#include "cpu/support/context.h"

namespace cpu {

// An image with a frame: pixel (y, x) of the source is at (top + y, left + x) of [height, width,
// channels]; everything else is 0.
struct Framed {
  std::int64_t height, width, channels;
  std::int64_t top, left;
  std::int64_t source_h, source_w;

  std::int64_t size() const { return height * width * channels; }
  std::int64_t source_size() const { return source_h * source_w * channels; }
  // Whether the source already equals the framed image.
  bool is_source() const {
    return top == 0 && left == 0 && height <= source_h && width == source_w;
  }
};

// A convolution of a framed image: out [out_h, out_w, n] = sum over taps of image * filter.
struct Window {
  Framed image;
  std::int64_t kernel_h, kernel_w, dilation_h, dilation_w, stride_h, stride_w;
  std::int64_t out_h, out_w, out_c;

  std::int64_t depth() const { return kernel_h * kernel_w * image.channels; }
  std::int64_t pixels() const { return out_h * out_w; }
  double flops() const { return 2.0 * static_cast<double>(pixels() * out_c * depth()); }
};

// Writes the framed copy of `source` into `to`.
void frame_image(const Framed& f, const float* source, float* to);

Window forward_window(const tv_conv2d_shape& s);

}  // namespace cpu
