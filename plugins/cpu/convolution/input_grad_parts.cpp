// SPDX-License-Identifier: Apache-2.0

#include "cpu/convolution/input_grad_parts.h"

#include <numeric>

namespace cpu {
namespace {

// A forward convolution along one axis.
struct Axis {
  std::int64_t in, out, taps, stride, dilation, pad;

  // Taps so far apart reach the same pixels of the input.
  std::int64_t tap_step() const { return stride / std::gcd(stride, dilation); }
  std::int64_t parts() const { return std::min(taps, tap_step()); }
};

Axis rows_of(const tv_conv2d_shape& s) {
  return {s.in_h, s.out_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top};
}
Axis columns_of(const tv_conv2d_shape& s) {
  return {s.in_w, s.out_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left};
}

// dx[y] = sum over taps k of dz[(y + pad - k * dilation) / stride] * w[k] where that is whole. It
// is whole for tap + j * tap_step with every j if it is for `tap`.
InputGradAxis part_of(const Axis& a, std::int64_t tap) {
  InputGradAxis part = {};
  part.first_tap = tap, part.tap_step = a.tap_step();
  part.taps = ceil_div(a.taps - tap, part.tap_step);
  part.dilation = a.dilation * part.tap_step / a.stride;
  const std::int64_t distance = tap * a.dilation - a.pad, rest = distance % a.stride;
  part.first_pixel = rest < 0 ? rest + a.stride : rest;
  part.pixels = ceil_div(std::max<std::int64_t>(0, a.in - part.first_pixel), a.stride);
  // The first pixel reads dz at `last` with the first tap, and before it with the others.
  const std::int64_t last = (part.first_pixel - distance) / a.stride;
  part.frame = (part.taps - 1) * part.dilation - last;
  return part;
}

}  // namespace

InputGradParts::InputGradParts(const tv_conv2d_shape& s)
    : s_(s),
      count_h_(rows_of(s).parts()),
      count_w_(columns_of(s).parts()),
      covers_(count_h_ == s.stride_h && count_w_ == s.stride_w) {}

InputGradPart InputGradParts::at(std::int64_t y, std::int64_t x) const {
  InputGradPart part = {part_of(rows_of(s_), y), part_of(columns_of(s_), x), {}};
  Window& w = part.window;
  w.kernel_h = part.y.taps, w.kernel_w = part.x.taps;
  w.dilation_h = part.y.dilation, w.dilation_w = part.x.dilation;
  w.stride_h = w.stride_w = 1;
  w.out_h = part.y.pixels, w.out_w = part.x.pixels, w.out_c = s_.in_c;
  w.image.height = w.out_h + (w.kernel_h - 1) * w.dilation_h;
  w.image.width = w.out_w + (w.kernel_w - 1) * w.dilation_w;
  w.image.channels = s_.out_c;
  w.image.top = part.y.frame, w.image.left = part.x.frame;
  w.image.source_h = s_.out_h, w.image.source_w = s_.out_w;
  return part;
}

}  // namespace cpu
