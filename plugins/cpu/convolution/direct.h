// SPDX-License-Identifier: Apache-2.0
// Convolution and the gradient of its filters, image by image, without a copy of its windows.
#pragma once

#include "cpu/convolution/input_grad_parts.h"

namespace cpu {

// Which taps of a filter [rows, kernel_w, Cin, Cout] a window has, from first_y, first_x on.
// `reversed`: the last one first, with Cout as depth, for the gradient of the input.
struct FilterTaps {
  std::int64_t kernel_w;
  std::int64_t first_y = 0, step_y = 1, first_x = 0, step_x = 1;
  bool reversed = false;

  // The tap of the filter that the window has at (y, x).
  std::int64_t at(const Window& w, std::int64_t y, std::int64_t x) const {
    if (reversed) y = w.kernel_h - 1 - y, x = w.kernel_w - 1 - x;
    return (first_y + y * step_y) * kernel_w + first_x + x * step_x;
  }
};

inline FilterTaps taps_of(const InputGradPart& part, std::int64_t kernel_w) {
  return {kernel_w, part.y.first_tap, part.y.tap_step, part.x.first_tap, part.x.tap_step, true};
}

// Filters [depth, n] in panels of whole vectors, as the loops read them.
std::int64_t packed_filter_size(const Window& w);
void pack_filter(const Window& w, const float* filter, const FilterTaps& taps, float* packed);

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
