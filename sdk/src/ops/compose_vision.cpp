// SPDX-License-Identifier: Apache-2.0
#include "ops/compose_vision.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/op_support.h"
#include "trivet/ops.h"
#include "trivet/tensor/device.h"

namespace trivet::compose {
namespace {

// The padded image's extents: just what the windows reach.
struct Padded {
  std::int64_t h, w;           // of the padded image
  std::int64_t rows, columns;  // of the image that lie in it

  explicit Padded(const tv_conv2d_shape& s)
      : h((s.out_h - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1),
        w((s.out_w - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1),
        rows(std::clamp<std::int64_t>(h - s.pad_top, 0, s.in_h)),
        columns(std::clamp<std::int64_t>(w - s.pad_left, 0, s.in_w)) {}
};

tv_view strided(const Tensor& memory, std::int64_t offset,
                std::initializer_list<std::int64_t> shape,
                std::initializer_list<std::int64_t> stride) {
  tv_view view = memory.view();
  view.data = static_cast<std::byte*>(view.data) +
              offset * static_cast<std::int64_t>(size_of(memory.dtype()));
  view.rank = static_cast<std::uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(stride.begin(), stride.end(), view.stride);
  return view;
}

void copy(Device& device, const tv_view& to, const tv_view& from) {
  device.call("copy", &tv_backend::copy, &to, &from);
}

// The part of the padded image [B, Hp, Wp, C] where the image itself lies.
tv_view inside_padded(const Tensor& padded, const tv_conv2d_shape& s, const Padded& p) {
  return strided(padded, (s.pad_top * p.w + s.pad_left) * s.in_c,
                 {s.batch, p.rows, p.columns, s.in_c},
                 {p.h * p.w * s.in_c, p.w * s.in_c, s.in_c, 1});
}

// The same part of the image [B, H, W, C] itself.
tv_view inside_image(const Tensor& image, const tv_conv2d_shape& s, const Padded& p) {
  return strided(image, 0, {s.batch, p.rows, p.columns, s.in_c},
                 {s.in_h * s.in_w * s.in_c, s.in_w * s.in_c, s.in_c, 1});
}

// What tap (kh, kw) of every window sees of the padded image: [B, OH, OW, C].
tv_view seen_from(const Tensor& padded, const tv_conv2d_shape& s, const Padded& p, std::int64_t kh,
                  std::int64_t kw) {
  const std::int64_t offset = (kh * s.dilation_h * p.w + kw * s.dilation_w) * s.in_c;
  return strided(padded, offset, {s.batch, s.out_h, s.out_w, s.in_c},
                 {p.h * p.w * s.in_c, s.stride_h * p.w * s.in_c, s.stride_w * s.in_c, 1});
}

std::int64_t windows(const tv_conv2d_shape& s) {
  return s.batch * s.out_h * s.out_w;
}
std::int64_t taps(const tv_conv2d_shape& s) {
  return s.kernel_h * s.kernel_w;
}

// One over the number of pixels that each window has inside the image: [OH, OW, 1].
Tensor reciprocal_counts(Device& device, const tv_conv2d_shape& s) {
  const auto inside = [](std::int64_t begin, std::int64_t window, std::int64_t dilation,
                         std::int64_t extent) {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t at = begin + k * dilation;
      count += at >= 0 && at < extent ? 1 : 0;
    }
    return count;
  };
  std::vector<float> reciprocals;
  for (std::int64_t y = 0; y < s.out_h; ++y) {
    const auto rows = inside(y * s.stride_h - s.pad_top, s.kernel_h, s.dilation_h, s.in_h);
    for (std::int64_t x = 0; x < s.out_w; ++x) {
      const auto columns = inside(x * s.stride_w - s.pad_left, s.kernel_w, s.dilation_w, s.in_w);
      const std::int64_t count = rows * columns;
      reciprocals.push_back(count > 0 ? 1.0F / static_cast<float>(count) : 0.0F);
    }
  }
  return Tensor::from<float>(device, reciprocals, {s.out_h, s.out_w, 1});
}

}  // namespace

Tensor patches(const Tensor& image, const tv_conv2d_shape& s, double outside) {
  Device& device = image.device();
  const Padded p(s);
  Tensor padded = Tensor::full(device, {s.batch, p.h, p.w, s.in_c}, outside);
  copy(device, inside_padded(padded, s, p), inside_image(image, s, p));
  Tensor out = Tensor::empty(device, {windows(s), taps(s), s.in_c});
  const tv_view from =
      strided(padded, 0, {s.batch, s.out_h, s.out_w, s.kernel_h, s.kernel_w, s.in_c},
              {p.h * p.w * s.in_c, s.stride_h * p.w * s.in_c, s.stride_w * s.in_c,
               s.dilation_h * p.w * s.in_c, s.dilation_w * s.in_c, 1});
  const std::int64_t row = taps(s) * s.in_c;
  const tv_view to =
      strided(out, 0, {s.batch, s.out_h, s.out_w, s.kernel_h, s.kernel_w, s.in_c},
              {s.out_h * s.out_w * row, s.out_w * row, row, s.kernel_w * s.in_c, s.in_c, 1});
  copy(device, to, from);
  return out;
}

Tensor add_patches(const Tensor& dpatches, const tv_conv2d_shape& s) {
  Device& device = dpatches.device();
  const Padded p(s);
  const Tensor padded = Tensor::zeros(device, {s.batch, p.h, p.w, s.in_c});
  const Shape slice{s.batch, s.out_h, s.out_w, s.in_c};
  const Tensor sum = Tensor::empty(device, slice);
  const Tensor part = Tensor::empty(device, slice);
  const std::int64_t row = taps(s) * s.in_c;
  for (std::int64_t kh = 0; kh < s.kernel_h; ++kh) {
    for (std::int64_t kw = 0; kw < s.kernel_w; ++kw) {
      const tv_view tap =
          strided(dpatches, (kh * s.kernel_w + kw) * s.in_c, {s.batch, s.out_h, s.out_w, s.in_c},
                  {s.out_h * s.out_w * row, s.out_w * row, row, 1});
      const tv_view target = seen_from(padded, s, p, kh, kw);
      copy(device, part.view(), tap);
      copy(device, sum.view(), target);
      const tv_view a = sum.view(), b = part.view();
      device.call("binary", &tv_backend::binary, TV_ADD, &a, &a, &b);
      copy(device, target, sum.view());
    }
  }
  const Tensor image = Tensor::zeros(device, {s.batch, s.in_h, s.in_w, s.in_c});
  copy(device, inside_image(image, s, p), inside_padded(padded, s, p));
  return image;
}

Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b, const tv_conv2d_shape& s) {
  Device& device = x.device();
  NoGrad no_grad;
  const Tensor y = Tensor::empty(device, {s.batch, s.out_h, s.out_w, s.out_c});
  detail::product(patches(x, s, 0), w, {}, y, windows(s), s.out_c, taps(s) * s.in_c, 0);
  return b.defined() ? ops::add(y, b) : y;
}

Tensor conv2d_dx(const Tensor& dz, const Tensor& w, const tv_conv2d_shape& s) {
  Device& device = dz.device();
  const Tensor dpatches = Tensor::empty(device, {windows(s), taps(s), s.in_c});
  detail::product(dz, w, {.b = true}, dpatches, windows(s), taps(s) * s.in_c, s.out_c, 0);
  return add_patches(dpatches, s);
}

void conv2d_dw(const Tensor& x, const Tensor& dz, const tv_conv2d_shape& s, Vjp::Target dw) {
  detail::product(patches(x, s, 0), dz, {.a = true}, dw.gradient, taps(s) * s.in_c, s.out_c,
                  windows(s), dw.beta);
}

void conv2d_db(const Tensor& dz, Vjp::Target db) {
  NoGrad no_grad;
  Device& device = dz.device();
  Tensor sum = ops::sum(ops::reshape(dz, {-1, dz.dim(3)}), 0);
  if (db.beta != 0) sum = ops::add(sum, db.gradient);
  const tv_view to = db.gradient.mutable_view(), from = sum.view();
  device.call("copy", &tv_backend::copy, &to, &from);
}

MaxPool max_pool2d(const Tensor& x, const tv_conv2d_shape& s) {
  NoGrad no_grad;
  const Tensor seen = patches(x, s, -std::numeric_limits<double>::infinity());
  return {ops::reshape(ops::max(seen, 1), {s.batch, s.out_h, s.out_w, s.in_c}),
          ops::argmax(seen, 1)};
}

Tensor max_pool2d_dx(const Tensor& dy, const Tensor& argmax, const tv_conv2d_shape& s) {
  NoGrad no_grad;
  Device& device = dy.device();
  std::vector<std::int32_t> numbers;
  for (std::int64_t k = 0; k < taps(s); ++k) numbers.push_back(static_cast<std::int32_t>(k));
  const Tensor tap = Tensor::from<std::int32_t>(device, numbers, {1, taps(s), 1});
  const Shape all{windows(s), taps(s), s.in_c};
  const Tensor chosen = ops::equal(ops::expand(ops::reshape(argmax, {windows(s), 1, s.in_c}), all),
                                   ops::expand(tap, all));
  const Tensor gradient = ops::expand(ops::reshape(dy, {windows(s), 1, s.in_c}), all);
  return add_patches(ops::contiguous(ops::where(chosen, gradient, Tensor::zeros(device, all))), s);
}

Tensor avg_pool2d(const Tensor& x, const tv_conv2d_shape& s) {
  NoGrad no_grad;
  const Tensor sums =
      ops::reshape(ops::sum(patches(x, s, 0), 1), {s.batch, s.out_h, s.out_w, s.in_c});
  return ops::mul(sums, reciprocal_counts(x.device(), s));
}

Tensor avg_pool2d_dx(const Tensor& dy, const tv_conv2d_shape& s) {
  NoGrad no_grad;
  const Tensor scaled = ops::mul(dy, reciprocal_counts(dy.device(), s));
  const Tensor row = ops::reshape(scaled, {windows(s), 1, s.in_c});
  return add_patches(ops::contiguous(ops::expand(row, {windows(s), taps(s), s.in_c})), s);
}

}  // namespace trivet::compose
