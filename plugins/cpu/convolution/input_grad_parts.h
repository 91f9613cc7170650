// SPDX-License-Identifier: Apache-2.0
// The gradient of the input of a convolution as convolutions of stride 1, without products of the
// zeros that a stride leaves.
#pragma once

#include "cpu/convolution/image.h"

namespace cpu {

// Pixels of dx along one axis that the same taps reach: first_pixel, first_pixel + stride, ...
// Their gradient is a convolution of dz, with stride 1, with these taps in reverse: first_tap,
// first_tap + tap_step, ...
struct InputGradAxis {
  std::int64_t first_tap, tap_step, taps, dilation;
  std::int64_t first_pixel, pixels;
  std::int64_t frame;  // zeros before the first pixel of dz; negative: pixels that are not read
};

struct InputGradPart {
  InputGradAxis y, x;
  Window window;
};

// The gradient of the input in parts, stride_h * stride_w of them if there are as many taps, and
// none empty.
class InputGradParts {
 public:
  explicit InputGradParts(const tv_conv2d_shape& s);

  // Whether each pixel of dx belongs to a part. The gradient of others is 0.
  bool cover_input() const { return covers_; }

  // Calls f(part).
  template <typename F>
  void each(const F& f) const {
    for (std::int64_t y = 0; y < count_h_; ++y) {
      for (std::int64_t x = 0; x < count_w_; ++x) {
        const InputGradPart part = at(y, x);
        if (part.window.pixels() > 0) f(part);
      }
    }
  }

 private:
  InputGradPart at(std::int64_t y, std::int64_t x) const;

  tv_conv2d_shape s_;
  std::int64_t count_h_, count_w_;
  bool covers_;
};

}  // namespace cpu
