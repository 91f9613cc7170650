// SPDX-License-Identifier: Apache-2.0
// Windows over images for the convolution kernels: a copy of one image with its zero padding, in
// which every tap of every window has a fixed distance from the window's first pixel.
#pragma once

#include <trivet/backend/kernels/vision.h>

#include "cpu/support/context.h"

namespace cpu {

// An image with a frame: pixel (y, x) of the source is at (top + y * step_h, left + x * step_w) of
// [height, width, channels]; everything else is 0.
struct Framed {
  std::int64_t height, width, channels;
  std::int64_t top, left;
  std::int64_t step_h = 1, step_w = 1;  // above 1: zeros between the pixels
  std::int64_t source_h, source_w;

  std::int64_t size() const { return height * width * channels; }
  // Whether the source already equals the framed image.
  bool is_source() const {
    return top == 0 && left == 0 && step_h == 1 && step_w == 1 && height <= source_h &&
           width == source_w;
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
// The gradient of the input as a convolution of dz with the flipped filters.
Window input_grad_window(const tv_conv2d_shape& s);

// Filters [depth, n] in panels of whole vectors, as the kernel below reads them. Flipped: w
// [KH, KW, Cin, Cout] with its taps reversed and Cout as depth.
std::int64_t packed_filter_size(const Window& w);
enum class FilterTaps : bool { in_order, flipped };
void pack_filter(const Window& w, const float* filter, FilterTaps taps, float* packed);

// What follows a convolution: bias (null: none), which has whole panels, then max(., 0).
struct ConvEpilogue {
  const float* bias = nullptr;
  bool relu = false;
};
// One image: y = conv, and what follows.
void convolve(const Window& w, const float* framed, const float* packed, const ConvEpilogue& then,
              float* y);
std::int64_t padded_channels(std::int64_t n);  // whole panels

// One image of the filter gradient: dw (packed as above) += windows of `framed` times dz.
// `panel` is scratch of filter_grad_panel_size floats.
std::int64_t filter_grad_panel_size(const Window& w);
void filter_grad(const Window& w, const float* framed, const float* dz, float* panel, float* dw);
// dw = beta * dw + the sum of `parts` packed gradients, which are destroyed.
void unpack_filter_grad(const Window& w, std::int64_t parts, float* packed, float beta, float* dw);

}  // namespace cpu
