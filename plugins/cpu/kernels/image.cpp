// SPDX-License-Identifier: Apache-2.0
// Frames around images and the shapes of the three convolutions.

#include "cpu/kernels/image.h"

#include <cstring>

namespace cpu {

void frame_image(const Framed& f, const float* source, float* to) {
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * 4; };
  const std::int64_t row = f.width * f.channels;
  const bool dense = f.step_w == 1;
  // Columns [first, last) of the source lie inside the frame.
  const std::int64_t first = f.left < 0 ? ceil_div(-f.left, f.step_w) : 0;
  const std::int64_t last =
      std::clamp<std::int64_t>(ceil_div(f.width - f.left, f.step_w), first, f.source_w);
  for (std::int64_t y = 0; y < f.height; ++y) {
    float* to_row = to + y * row;
    const std::int64_t down = y - f.top, source_y = down / f.step_h;
    const bool inside = down >= 0 && down % f.step_h == 0 && source_y < f.source_h;
    if (!inside || !dense) std::memset(to_row, 0, bytes(row));
    if (!inside) continue;
    const float* from = source + (source_y * f.source_w + first) * f.channels;
    float* at = to_row + (f.left + first * f.step_w) * f.channels;
    if (!dense) {
      for (std::int64_t x = first; x < last; ++x, from += f.channels) {
        std::memcpy(at, from, bytes(f.channels));
        at += f.step_w * f.channels;
      }
      continue;
    }
    std::memset(to_row, 0, bytes(at - to_row));
    std::memcpy(at, from, bytes((last - first) * f.channels));
    at += (last - first) * f.channels;
    std::memset(at, 0, bytes(to_row + row - at));
  }
}

Window forward_window(const tv_conv2d_shape& s) {
  Window w = {};
  w.kernel_h = s.kernel_h, w.kernel_w = s.kernel_w;
  w.dilation_h = s.dilation_h, w.dilation_w = s.dilation_w;
  w.stride_h = s.stride_h, w.stride_w = s.stride_w;
  w.out_h = s.out_h, w.out_w = s.out_w, w.out_c = s.out_c;
  w.image.height = (s.out_h - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  w.image.width = (s.out_w - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
  w.image.channels = s.in_c;
  w.image.top = s.pad_top, w.image.left = s.pad_left;
  w.image.source_h = s.in_h, w.image.source_w = s.in_w;
  return w;
}

// dx[y] = sum over taps of dz[(y + pad - k dilation) / stride] where that is whole: dz with
// stride - 1 zeros between its pixels, framed so that tap KH - 1 - k reaches it.
Window input_grad_window(const tv_conv2d_shape& s) {
  Window w = {};
  w.kernel_h = s.kernel_h, w.kernel_w = s.kernel_w;
  w.dilation_h = s.dilation_h, w.dilation_w = s.dilation_w;
  w.stride_h = w.stride_w = 1;
  w.out_h = s.in_h, w.out_w = s.in_w, w.out_c = s.in_c;
  w.image.height = s.in_h + (s.kernel_h - 1) * s.dilation_h;
  w.image.width = s.in_w + (s.kernel_w - 1) * s.dilation_w;
  w.image.channels = s.out_c;
  w.image.top = (s.kernel_h - 1) * s.dilation_h - s.pad_top;
  w.image.left = (s.kernel_w - 1) * s.dilation_w - s.pad_left;
  w.image.step_h = s.stride_h, w.image.step_w = s.stride_w;
  w.image.source_h = s.out_h, w.image.source_w = s.out_w;
  return w;
}

}  // namespace cpu
