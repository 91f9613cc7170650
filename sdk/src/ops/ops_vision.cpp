// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling: the backend's kernels where it has them, the compositions otherwise. The
// two ways have ops of their own, because they keep different things for the gradient.
#include "trivet/ops/ops_vision.h"

#include <algorithm>
#include <vector>

#include "ops/compose_vision.h"
#include "ops/op_support.h"
#include "ops/saved_activations.h"
#include "ops/window_shape.h"
#include "trivet/error.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

// Convolution with the backend's kernels

struct ConvAttributes {
  tv_conv2d_shape shape;
  Activation activation;
  bool bias;
};

void conv2d_kernel_vjp(Vjp& v) {
  const auto& a = v.attributes<ConvAttributes>();
  const Tensor& dy = v.grad_output();
  Device& device = dy.device();
  Tensor dz = v.may_overwrite_grad_output() || a.activation == Activation::none
                  ? dy
                  : Tensor::empty(device, dy.shape());
  Tensor dx = v.wants(0) ? Tensor::empty(device, v.saved(0).shape()) : Tensor();
  const Vjp::Target dw = v.wants(1) ? v.target(1) : Vjp::Target{{}, 0};
  const Vjp::Target db = a.bias && v.wants(2) ? v.target(2) : Vjp::Target{{}, 0};
  tv_conv2d_grad args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.activation = static_cast<std::uint8_t>(a.activation);
  args.shape = a.shape;
  args.x = detail::memory(v.saved(0));
  args.w = detail::memory(v.saved(1));
  args.saved = a.activation == Activation::none ? nullptr : detail::memory(v.saved(2));
  args.dy = detail::memory(dy);
  args.dz = detail::memory(dz);
  args.dx = detail::memory_or_null(dx);
  args.dw = detail::memory_or_null(dw.gradient);
  args.db = detail::memory_or_null(db.gradient);
  args.beta_dw = dw.beta;
  args.beta_db = db.beta;
  if (!device.try_extension<tv_conv2d_bwd_fn>(TV_CONV2D_BWD, &args)) {
    const Tensor g = detail::activation_gradient(a.activation, v.saved(2), dy);
    if (dx.defined()) dx = compose::conv2d_dx(g, v.saved(1), a.shape);
    if (dw.gradient.defined()) compose::conv2d_dw(v.saved(0), g, a.shape, dw);
    if (db.gradient.defined()) compose::conv2d_db(g, db);
  }
  if (dx.defined()) v.add(0, dx);
}
constexpr OpDef kConv2dKernel{"conv2d", conv2d_kernel_vjp};

detail::KeptOp kept_conv(bool records) {
  return {"conv2d", detail::KeptOp::Kind::other_product, detail::on_tape(records)};
}

// Undefined when the backend has no kernel for this.
Tensor conv2d_by_kernel(const Tensor& x, const Tensor& w, const Tensor& b,
                        const tv_conv2d_shape& shape, Activation act, bool records) {
  const auto compute = [&]() -> detail::SavingActivations::Activated {
    Device& device = x.device();
    const Tensor out = Tensor::empty(device, {shape.batch, shape.out_h, shape.out_w, shape.out_c});
    const Tensor before =
        records && detail::needs_input(act) ? Tensor::empty(device, out.shape()) : Tensor();
    tv_conv2d args{};
    args.struct_size = sizeof args;
    args.dtype = TV_F32;
    args.activation = static_cast<std::uint8_t>(act);
    args.shape = shape;
    args.x = detail::memory(x);
    args.w = detail::memory(w);
    args.b = detail::memory_or_null(b);
    args.y = detail::memory(out);
    args.pre = detail::memory_or_null(before);
    if (!device.try_extension<tv_conv2d_fwd_fn>(TV_CONV2D_FWD, &args)) return {};
    return {out, before};
  };
  auto [y, pre] = detail::SavingActivations::kept(kept_conv(records), act, compute);
  if (!y.defined() || !records) return y;
  const ConvAttributes attributes{shape, act, b.defined()};
  // The output may be saved only as another header: it is about to be put on the tape.
  const Tensor kept = pre.defined() ? pre : ops::stop_gradient(y);
  if (b.defined()) {
    record(kConv2dKernel, {x, w, b}, y, {x, w, kept}, attributes);
  } else {
    record(kConv2dKernel, {x, w}, y, {x, w, kept}, attributes);
  }
  return y;
}

// Convolution composed

void conv2d_composed_vjp(Vjp& v) {
  const auto& a = v.attributes<ConvAttributes>();
  const Tensor dz = ops::contiguous(v.grad_output());
  if (v.wants(0)) v.add(0, compose::conv2d_dx(dz, v.saved(1), a.shape));
  if (v.wants(1)) compose::conv2d_dw(v.saved(0), dz, a.shape, v.target(1));
  if (a.bias && v.wants(2)) compose::conv2d_db(dz, v.target(2));
}
constexpr OpDef kConv2dComposed{"conv2d_composed", conv2d_composed_vjp};

// Each group of input channels with its filters, side by side.
Tensor grouped(const Tensor& x, const Tensor& w, const Tensor& b, const WindowOptions& options,
               Activation act) {
  WindowOptions alone = options;
  alone.groups = 1;
  const auto parts = static_cast<int>(options.groups);
  const std::vector<Tensor> images = ops::split(x, 3, parts), filters = ops::split(w, 3, parts);
  const std::vector<Tensor> biases =
      b.defined() ? ops::split(b, 0, parts) : std::vector<Tensor>(images.size());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < images.size(); ++i) {
    out.push_back(ops::conv2d(images[i], filters[i], biases[i], alone, act));
  }
  return ops::concat(out, 3);
}

// Pooling

struct PoolAttributes {
  tv_conv2d_shape shape;
  tv_pool_kind kind;
};

void pool2d_kernel_vjp(Vjp& v) {
  const auto& a = v.attributes<PoolAttributes>();
  const Tensor& dy = v.grad_output();
  Device& device = dy.device();
  Tensor dx = Tensor::empty(device, {a.shape.batch, a.shape.in_h, a.shape.in_w, a.shape.in_c});
  tv_pool2d_grad args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.kind = static_cast<std::uint8_t>(a.kind);
  args.shape = a.shape;
  args.dy = detail::memory(dy);
  args.argmax = a.kind == TV_POOL_MAX ? static_cast<const std::uint8_t*>(detail::memory(v.saved(0)))
                                      : nullptr;
  args.dx = detail::memory(dx);
  if (!device.try_extension<tv_pool2d_bwd_fn>(TV_POOL2D_BWD, &args)) {
    if (a.kind == TV_POOL_AVG) return v.add(0, compose::avg_pool2d_dx(dy, a.shape));
    const Tensor positions =
        detail::reshaped(ops::cast(v.saved(0), DType::i32),
                         {dy.size() / std::max<std::int64_t>(1, a.shape.in_c), a.shape.in_c});
    return v.add(0, compose::max_pool2d_dx(dy, positions, a.shape));
  }
  v.add(0, dx);
}
constexpr OpDef kPool2dKernel{"pool2d", pool2d_kernel_vjp};

void pool2d_composed_vjp(Vjp& v) {
  const auto& a = v.attributes<PoolAttributes>();
  const Tensor dy = ops::contiguous(v.grad_output());
  v.add(0, a.kind == TV_POOL_MAX ? compose::max_pool2d_dx(dy, v.saved(0), a.shape)
                                 : compose::avg_pool2d_dx(dy, a.shape));
}
constexpr OpDef kPool2dComposed{"pool2d_composed", pool2d_composed_vjp};

Tensor pool2d_by_kernel(const Tensor& x, const PoolAttributes& a, bool records) {
  constexpr std::int64_t kPlacesInByte = 256;
  if (a.shape.kernel_h * a.shape.kernel_w > kPlacesInByte) return {};
  Device& device = x.device();
  const Shape out{a.shape.batch, a.shape.out_h, a.shape.out_w, a.shape.out_c};
  Tensor y = Tensor::empty(device, out);
  const bool needs_argmax = records && a.kind == TV_POOL_MAX;
  const Tensor argmax = needs_argmax ? Tensor::empty(device, out, DType::u8) : Tensor();
  tv_pool2d args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.kind = static_cast<std::uint8_t>(a.kind);
  args.shape = a.shape;
  args.x = detail::memory(x);
  args.y = detail::memory(y);
  args.argmax = static_cast<std::uint8_t*>(detail::memory_or_null(argmax));
  if (!device.try_extension<tv_pool2d_fwd_fn>(TV_POOL2D_FWD, &args)) return {};
  if (needs_argmax) {
    record(kPool2dKernel, {x}, y, {argmax}, a);
  } else {
    record(kPool2dKernel, {x}, y, {}, a);
  }
  return y;
}

Tensor pool2d(const char* op, const Tensor& image, std::array<std::int64_t, 2> window,
              const WindowOptions& options, tv_pool_kind kind) {
  const Tensor x = detail::operand(op, "x", image);
  if (x.rank() != 4) detail::wrong(op, "images [B, H, W, C]", x.to_string());
  const PoolAttributes a{window_shape(op, x.shape(), window, x.dim(3), options), kind};
  const tv_conv2d_shape& s = a.shape;
  const WindowAxis axes[]{{s.in_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.out_h},
                          {s.in_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.out_w}};
  check_pooling(op, axes, options.groups);
  const bool records = Tape::current() != nullptr && x.requires_grad();
  if (Tensor y = pool2d_by_kernel(x, a, records); y.defined()) return y;
  if (kind == TV_POOL_AVG) {
    Tensor y = compose::avg_pool2d(x, a.shape);
    record(kPool2dComposed, {x}, y, {}, a);
    return y;
  }
  auto [y, argmax] = compose::max_pool2d(x, a.shape);
  record(kPool2dComposed, {x}, y, {argmax}, a);
  return y;
}

}  // namespace

Tensor ops::conv2d(const Tensor& image, const Tensor& filters, const Tensor& bias,
                   const WindowOptions& options, Activation act) {
  const Tensor x = detail::operand("conv2d", "x", image);
  const Tensor w = detail::operand_beside("conv2d", "w", filters, x);
  const Tensor b = detail::optional_operand("conv2d", "b", bias, x);
  check_filters("conv2d", 2, x, w, b, options.groups, act);
  if (options.groups > 1) return grouped(x, w, b, options, act);
  const tv_conv2d_shape shape =
      window_shape("conv2d", x.shape(), {w.dim(0), w.dim(1)}, w.dim(3), options);
  const bool records = Tape::current() != nullptr && (x.requires_grad() || w.requires_grad() ||
                                                      (b.defined() && b.requires_grad()));
  const double products =
      static_cast<double>(shape.batch * shape.out_h * shape.out_w) * static_cast<double>(w.size());
  x.device().count_flops((records ? (x.requires_grad() ? 6 : 4) : 2) * products);

  if (Tensor y = conv2d_by_kernel(x, w, b, shape, act, records); y.defined()) return y;
  const auto composed = [&]() -> std::vector<Tensor> { return {compose::conv2d(x, w, b, shape)}; };
  Tensor y = detail::SavingActivations::kept(kept_conv(records), composed)[0];
  const ConvAttributes attributes{shape, act, b.defined()};
  if (b.defined()) {
    record(kConv2dComposed, {x, w, b}, y, {x, w}, attributes);
  } else {
    record(kConv2dComposed, {x, w}, y, {x, w}, attributes);
  }
  return act == Activation::none ? y : activation(y, act);
}

Tensor ops::max_pool2d(const Tensor& x, std::array<std::int64_t, 2> window,
                       const WindowOptions& options) {
  return pool2d("max_pool2d", x, window, options, TV_POOL_MAX);
}

Tensor ops::avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> window,
                       const WindowOptions& options) {
  return pool2d("avg_pool2d", x, window, options, TV_POOL_AVG);
}

}  // namespace trivet
