// SPDX-License-Identifier: Apache-2.0
// Three-dimensional windows: the images of a volume side by side in the batch, the depth on its
// own.
#include "trivet/ops/ops_volume.h"

#include <array>

#include "ops/op_support.h"
#include "ops/window_shape.h"

namespace trivet {
namespace {

WindowOptions in_plane(const VolumeOptions& o) {
  return {.stride = {o.stride[1], o.stride[2]},
          .dilation = {o.dilation[1], o.dilation[2]},
          .padding = o.padding,
          .pad = {o.pad[1], o.pad[2]},
          .groups = o.groups};
}

// The depth as the height of an image of width 1.
WindowOptions in_depth(const VolumeOptions& o) {
  return {.stride = {o.stride[0], 1},
          .dilation = {o.dilation[0], 1},
          .padding = o.padding,
          .pad = {o.pad[0], 0}};
}

Tensor expect_volume(const char* op, const Tensor& x) {
  const Tensor volume = detail::operand(op, "x", x);
  if (volume.rank() != 5) detail::wrong(op, "volumes [B, D, H, W, C]", volume.to_string());
  return volume;
}

Tensor as_images(const Tensor& x) {
  return ops::reshape(x, {x.dim(0) * x.dim(1), x.dim(2), x.dim(3), x.dim(4)});
}

// Depth, height and width. Arguments that the ops on images would reject are an error here, with
// the name of the op on volumes.
std::array<WindowAxis, 3> window_axes(const char* op, const Tensor& x,
                                      std::array<std::int64_t, 3> window, const VolumeOptions& o) {
  std::array<WindowAxis, 3> axes{};
  for (std::size_t i = 0; i < 3; ++i) {
    axes[i] = window_axis(op, x.dim(static_cast<int>(i) + 1), window[i], o.stride[i], o.dilation[i],
                          o.padding, o.pad[i]);
  }
  return axes;
}

// A window is the best (or mean) over depth of what its planes have: their counts do not differ.
template <class Pool>
Tensor pooled(const char* op, Pool pool, const Tensor& x, std::array<std::int64_t, 3> window,
              const VolumeOptions& options) {
  const Tensor volume = expect_volume(op, x);
  check_pooling(op, window_axes(op, volume, window, options), options.groups);
  const Tensor planes = pool(as_images(volume), {window[1], window[2]}, in_plane(options));
  const std::int64_t batch = volume.dim(0), h = planes.dim(1), w = planes.dim(2),
                     channels = volume.dim(4);
  const Tensor columns = ops::reshape(planes, {batch, volume.dim(1), h * w, channels});
  const Tensor y = pool(columns, {window[0], 1}, in_depth(options));
  return ops::reshape(y, {batch, y.dim(1), h, w, channels});
}

}  // namespace

Tensor ops::conv3d(const Tensor& given, const Tensor& filters, const Tensor& bias,
                   const VolumeOptions& options, Activation act) {
  const Tensor x = expect_volume("conv3d", given);
  const Tensor w = detail::operand_beside("conv3d", "w", filters, x);
  const Tensor b = detail::optional_operand("conv3d", "b", bias, x);
  check_filters("conv3d", 3, x, w, b, options.groups, act);
  const WindowAxis depth =
      window_axes("conv3d", x, {w.dim(0), w.dim(1), w.dim(2)}, options).front();
  const Tensor padded = pad(x, 1, depth.pad, depth.pad_behind());
  Tensor sum;
  for (std::int64_t k = 0; k < depth.window; ++k) {
    // Without any output the filters still take part, for their gradients.
    const std::int64_t first = depth.out == 0 ? 0 : k * depth.dilation;
    const Tensor images = as_images(detail::every(padded, 1, first, depth.stride, depth.out));
    const Tensor plane = reshape(slice(w, 0, k, k + 1), {w.dim(1), w.dim(2), w.dim(3), w.dim(4)});
    const Tensor part = conv2d(images, plane, {}, in_plane(options));
    sum = sum.defined() ? add(sum, part) : part;
  }
  if (b.defined()) sum = add(sum, b);
  const Tensor y = reshape(sum, {x.dim(0), depth.out, sum.dim(1), sum.dim(2), w.dim(4)});
  return act == Activation::none ? y : activation(y, act);
}

Tensor ops::max_pool3d(const Tensor& x, std::array<std::int64_t, 3> window,
                       const VolumeOptions& options) {
  return pooled("max_pool3d", max_pool2d, x, window, options);
}

Tensor ops::avg_pool3d(const Tensor& x, std::array<std::int64_t, 3> window,
                       const VolumeOptions& options) {
  return pooled("avg_pool3d", avg_pool2d, x, window, options);
}

}  // namespace trivet
