// SPDX-License-Identifier: Apache-2.0
// Three-dimensional windows: the images of a volume side by side in the batch, the depth on its
// own.
#include "trivet/ops_volume.h"

#include <algorithm>
#include <vector>

#include "op_support.h"
#include "window_shape.h"

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

// The images at depths first, first + stride, ..: [B, out, H, W, C]. x has them all.
Tensor every(const Tensor& x, std::int64_t first, std::int64_t stride, std::int64_t out) {
  if (stride == 1) return ops::slice(x, 1, first, first + out);
  std::vector<Tensor> images;
  for (std::int64_t i = 0; i < out; ++i) {
    images.push_back(ops::slice(x, 1, first + i * stride, first + i * stride + 1));
  }
  return ops::concat(images, 1);
}

// A window is the best (or mean) over depth of what its planes have: their counts do not differ.
template <class Pool>
Tensor pooled(const char* op, Pool pool, const Tensor& x, std::array<std::int64_t, 3> window,
              const VolumeOptions& options) {
  const Tensor volume = expect_volume(op, x);
  const Tensor planes = pool(as_images(volume), {window[1], window[2]}, in_plane(options));
  const std::int64_t batch = volume.dim(0), h = planes.dim(1), w = planes.dim(2),
                     channels = volume.dim(4);
  const Tensor columns = ops::reshape(planes, {batch, volume.dim(1), h * w, channels});
  const Tensor y = pool(columns, {window[0], 1}, in_depth(options));
  return ops::reshape(y, {batch, y.dim(1), h, w, channels});
}

void check_volume_filters(const Tensor& x, const Tensor& w, const Tensor& b, std::int64_t groups) {
  const bool fits = groups >= 1 && w.rank() == 5 && w.dim(3) * groups == x.dim(4) &&
                    w.dim(4) % groups == 0 && (!b.defined() || b.shape() == Shape{w.dim(4)});
  if (fits) return;
  detail::wrong("conv3d",
                "volumes [B, D, H, W, Cin], filters [KD, KH, KW, Cin / groups, Cout] and bias "
                "[Cout]",
                detail::shapes({&x, &w, &b}) + " and " + std::to_string(groups) + " groups");
}

}  // namespace

Tensor ops::conv3d(const Tensor& given, const Tensor& filters, const Tensor& bias,
                   const VolumeOptions& options, Activation act) {
  const Tensor x = expect_volume("conv3d", given);
  const Tensor w = detail::operand_beside("conv3d", "w", filters, x);
  const Tensor b = detail::optional_operand("conv3d", "b", bias, x);
  if (act >= Activation::geglu) throw Error("[conv3d] gated activations do not fit here");
  check_volume_filters(x, w, b, options.groups);
  const std::int64_t batch = x.dim(0), depth = x.dim(1), stride = options.stride[0];
  const tv_conv2d_shape shape = window_shape("conv3d", {batch, depth, 1, x.dim(4)}, {w.dim(0), 1},
                                             w.dim(4), in_depth(options));
  const std::int64_t out = shape.out_h;
  const std::int64_t reach =
      out == 0 ? 0 : (out - 1) * stride + (w.dim(0) - 1) * options.dilation[0] + 1;
  const std::int64_t below = std::max<std::int64_t>(0, reach - shape.pad_top - depth);
  const Tensor padded = pad(x, 1, shape.pad_top, below);
  Tensor sum;
  for (std::int64_t k = 0; k < w.dim(0); ++k) {
    const Tensor images = as_images(every(padded, k * options.dilation[0], stride, out));
    const Tensor plane = reshape(slice(w, 0, k, k + 1), {w.dim(1), w.dim(2), w.dim(3), w.dim(4)});
    const Tensor part = conv2d(images, plane, {}, in_plane(options));
    sum = sum.defined() ? add(sum, part) : part;
  }
  if (b.defined()) sum = add(sum, b);
  const Tensor y = reshape(sum, {batch, out, sum.dim(1), sum.dim(2), w.dim(4)});
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
