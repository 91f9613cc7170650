// SPDX-License-Identifier: Apache-2.0
#include "window_shape.h"

#include <algorithm>
#include <string>

#include "trivet/error.h"

namespace trivet {
namespace {

struct WindowAxis {
  std::int64_t out, pad_before;
};

WindowAxis window_axis(const std::string& op, std::int64_t in, std::int64_t window,
                       std::int64_t stride, std::int64_t dilation, Padding padding,
                       std::int64_t pad) {
  if (window < 1 || stride < 1 || dilation < 1 || pad < 0) {
    throw Error("[" + op + "] expected window, stride and dilation of at least 1 and pad of at " +
                "least 0, got " + std::to_string(window) + ", " + std::to_string(stride) + ", " +
                std::to_string(dilation) + " and " + std::to_string(pad));
  }
  const std::int64_t reach = dilation * (window - 1) + 1;
  if (padding == Padding::same) {
    const std::int64_t out = (in + stride - 1) / stride;
    const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + reach - in, 0);
    return {out, total / 2};
  }
  const std::int64_t around = padding == Padding::explicit_ ? pad : 0;
  const std::int64_t room = in + 2 * around - reach;
  if (room < 0) {
    throw Error("[" + op + "] a window of " + std::to_string(reach) + " does not fit into " +
                std::to_string(in) + " pixels with " + std::to_string(around) +
                " of padding on each side");
  }
  return {room / stride + 1, around};
}

}  // namespace

tv_conv2d_shape window_shape(const char* op, const Shape& image, std::array<std::int64_t, 2> window,
                             std::int64_t out_channels, const WindowOptions& options) {
  if (image.rank() != 4) {
    throw Error("[" + std::string(op) + "] expected images [B, H, W, C], got " + image.to_string());
  }
  const WindowAxis height = window_axis(op, image[1], window[0], options.stride[0],
                                        options.dilation[0], options.padding, options.pad[0]);
  const WindowAxis width = window_axis(op, image[2], window[1], options.stride[1],
                                       options.dilation[1], options.padding, options.pad[1]);
  tv_conv2d_shape shape{};
  shape.batch = image[0];
  shape.in_h = image[1];
  shape.in_w = image[2];
  shape.in_c = image[3];
  shape.kernel_h = window[0];
  shape.kernel_w = window[1];
  shape.stride_h = options.stride[0];
  shape.stride_w = options.stride[1];
  shape.dilation_h = options.dilation[0];
  shape.dilation_w = options.dilation[1];
  shape.pad_top = height.pad_before;
  shape.pad_left = width.pad_before;
  shape.out_h = height.out;
  shape.out_w = width.out;
  shape.out_c = out_channels;
  return shape;
}

}  // namespace trivet
