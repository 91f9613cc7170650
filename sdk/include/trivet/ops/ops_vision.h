// SPDX-License-Identifier: Apache-2.0
// Image ops: convolution and pooling. Images are NHWC, filters [KH, KW, Cin, Cout], as in
// TensorFlow and Praxis.
//
// A backend may bring kernels (trivet/backend/kernels/vision.h); without them convolution is
// patches (one strided copy) and a product, pooling a strided copy and a reduction.
#pragma once

#include <array>
#include <cstdint>

#include "trivet/ops.h"

namespace trivet {

// TensorFlow's rules. same: out = ceil(in / stride), zeros on both sides, the odd one below and
// right. valid: out = ceil((in - dilation (kernel - 1)) / stride), no padding. explicit_: `pad` on
// every side as given.
enum class Padding : std::uint8_t { same, valid, explicit_ };

struct WindowOptions {
  std::array<std::int64_t, 2> stride{1, 1};  // height, width
  std::array<std::int64_t, 2> dilation{1, 1};
  Padding padding = Padding::same;
  std::array<std::int64_t, 2> pad{
      0, 0};                // for explicit_: rows above and below, columns left and right
  std::int64_t groups = 1;  // convolution only: of channels, each with filters of its own
};

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// y = act(conv(x, w) + b): x [B, H, W, Cin], w [KH, KW, Cin / groups, Cout], b [Cout] or undefined
// -> [B, OH, OW, Cout]. Group g of the outputs sees group g of the inputs alone (Krizhevsky 2012);
// groups = Cin is the depthwise convolution. Groups are run one after the other.
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b = {},
              const WindowOptions& options = {}, Activation act = Activation::none);

// Padding never takes part: the mean divides by the number of pixels inside the image. A window
// without any pixel (padding of the window's extent or more) is an Error.
Tensor max_pool2d(const Tensor& x, std::array<std::int64_t, 2> window,
                  const WindowOptions& options);
Tensor avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> window,
                  const WindowOptions& options);

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
