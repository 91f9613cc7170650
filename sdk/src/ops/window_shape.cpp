// SPDX-License-Identifier: Apache-2.0
#include "ops/window_shape.h"

#include <algorithm>
#include <string>

#include "ops/op_support.h"

namespace trivet {
namespace {

// Whether some window lies in the padding alone.
bool misses_elements(const WindowAxis& a) {
  if (a.pad == 0) return false;
  for (std::int64_t begin = -a.pad; begin <= (a.out - 1) * a.stride - a.pad; begin += a.stride) {
    bool hit = false;
    for (std::int64_t k = 0; k < a.window && !hit; ++k) {
      const std::int64_t at = begin + k * a.dilation;
      hit = at >= 0 && at < a.in;
    }
    if (!hit) return true;
  }
  return false;
}

// "3 x 3"
std::string by_axis(std::span<const WindowAxis> axes, std::int64_t WindowAxis::*field) {
  std::string text;
  for (const WindowAxis& axis : axes) {
    text += (text.empty() ? "" : " x ") + std::to_string(axis.*field);
  }
  return text;
}

}  // namespace

std::int64_t WindowAxis::pad_behind() const {
  return out == 0 ? 0 : std::max<std::int64_t>(0, (out - 1) * stride + reach() - pad - in);
}

WindowAxis window_axis(const char* op, std::int64_t in, std::int64_t window, std::int64_t stride,
                       std::int64_t dilation, Padding padding, std::int64_t pad) {
  if (window < 1 || stride < 1 || dilation < 1 || pad < 0) {
    detail::wrong(op, "window, stride and dilation of at least 1 and pad of at least 0",
                  std::to_string(window) + ", " + std::to_string(stride) + ", " +
                      std::to_string(dilation) + " and " + std::to_string(pad));
  }
  WindowAxis axis{in, window, stride, dilation, 0, 0};
  if (padding == Padding::same) {
    axis.out = (in + stride - 1) / stride;
    axis.pad = std::max<std::int64_t>((axis.out - 1) * stride + axis.reach() - in, 0) / 2;
    return axis;
  }
  if (padding == Padding::explicit_) axis.pad = pad;
  const std::int64_t room = in + 2 * axis.pad - axis.reach();
  if (room < 0) {
    throw Error("[" + std::string(op) + "] a window of " + std::to_string(axis.reach()) +
                " does not fit into " + std::to_string(in) + " pixels with " +
                std::to_string(axis.pad) + " of padding on each side");
  }
  axis.out = room / stride + 1;
  return axis;
}

tv_conv2d_shape window_shape(const char* op, const Shape& image, std::array<std::int64_t, 2> window,
                             std::int64_t out_channels, const WindowOptions& options) {
  if (image.rank() != 4) detail::wrong(op, "images [B, H, W, C]", image.to_string());
  const WindowAxis height = window_axis(op, image[1], window[0], options.stride[0],
                                        options.dilation[0], options.padding, options.pad[0]);
  const WindowAxis width = window_axis(op, image[2], window[1], options.stride[1],
                                       options.dilation[1], options.padding, options.pad[1]);
  tv_conv2d_shape shape{};
  shape.batch = image[0];
  shape.in_h = height.in;
  shape.in_w = width.in;
  shape.in_c = image[3];
  shape.kernel_h = height.window;
  shape.kernel_w = width.window;
  shape.stride_h = height.stride;
  shape.stride_w = width.stride;
  shape.dilation_h = height.dilation;
  shape.dilation_w = width.dilation;
  shape.pad_top = height.pad;
  shape.pad_left = width.pad;
  shape.out_h = height.out;
  shape.out_w = width.out;
  shape.out_c = out_channels;
  return shape;
}

void check_filters(const char* op, int spatial_axes, const Tensor& x, const Tensor& w,
                   const Tensor& b, std::int64_t groups, Activation act) {
  if (act >= Activation::geglu) {
    throw Error("[" + std::string(op) + "] gated activations do not fit here");
  }
  const int rank = spatial_axes + 2;
  const bool fits = groups >= 1 && x.rank() == rank && w.rank() == rank &&
                    w.dim(rank - 2) * groups == x.dim(rank - 1) && w.dim(rank - 1) % groups == 0 &&
                    (!b.defined() || b.shape() == Shape{w.dim(rank - 1)});
  if (fits) return;
  const std::string items =
      spatial_axes == 3 ? "volumes [B, D, H, W, Cin]" : "images [B, H, W, Cin]";
  const std::string extents = spatial_axes == 3 ? "filters [KD, KH, KW, " : "filters [KH, KW, ";
  const std::string got = detail::shapes({&x, &w, &b});
  if (groups == 1) {
    detail::wrong(op, items + ", " + extents + "Cin, Cout] and bias [Cout]", got);
  }
  detail::wrong(op,
                items + ", " + extents +
                    "Cin / groups, Cout], bias [Cout] and groups that divide Cin and Cout",
                got + " and " + std::to_string(groups) + " groups");
}

void check_pooling(const char* op, std::span<const WindowAxis> axes, std::int64_t groups) {
  if (groups != 1) detail::wrong(op, "one group of channels", std::to_string(groups));
  if (std::none_of(axes.begin(), axes.end(), misses_elements)) return;
  const char* const whole = axes.size() == 3 ? "volume" : "image";
  detail::wrong(op, "windows that each hold a pixel of the " + std::string(whole),
                "windows of " + by_axis(axes, &WindowAxis::window) + " with " +
                    by_axis(axes, &WindowAxis::pad) + " of padding, some in the padding alone");
}

}  // namespace trivet
