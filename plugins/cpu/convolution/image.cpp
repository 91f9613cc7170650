// SPDX-License-Identifier: Apache-2.0
// Frames around images.

#include "cpu/convolution/image.h"

#include <cstring>

namespace cpu {

void frame_image(const Framed& f, const float* source, float* to) {
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * 4; };
  const std::int64_t row = f.width * f.channels;
  // Columns [first, last) of the source lie inside the frame.
  const std::int64_t first = std::max<std::int64_t>(0, -f.left);
  const std::int64_t last = std::clamp<std::int64_t>(f.width - f.left, first, f.source_w);
  for (std::int64_t y = 0; y < f.height; ++y, to += row) {
    const std::int64_t source_y = y - f.top;
    if (source_y < 0 || source_y >= f.source_h || first >= last) {
      std::memset(to, 0, bytes(row));
      continue;
    }
    const std::int64_t begin = (f.left + first) * f.channels, end = (f.left + last) * f.channels;
    std::memset(to, 0, bytes(begin));
    std::memcpy(to + begin, source + (source_y * f.source_w + first) * f.channels,
                bytes(end - begin));
    std::memset(to + end, 0, bytes(row - end));
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

}  // namespace cpu
