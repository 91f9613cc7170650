// SPDX-License-Identifier: Apache-2.0
// Activations by the backend's kernel, or out of elementwise ops.
#include <cmath>
#include <numbers>

#include "ops/op_support.h"

namespace trivet {
namespace {

bool gated(Activation act) {
  return act >= Activation::geglu;
}
bool keeps_output(Activation act) {
  return act == Activation::relu || act == Activation::tanh || act == Activation::sigmoid;
}

// erf to 1.5e-7 (Abramowitz and Stegun 7.1.26), which is what f32 holds.
Tensor erf_of(const Tensor& x) {
  constexpr float kP = 0.3275911F;
  constexpr float kA[] = {0.254829592F, -0.284496736F, 1.421413741F, -1.453152027F, 1.061405429F};
  const Tensor size = ops::abs(x);
  const Tensor one = x.device().impl().constant(1);
  const Tensor t = ops::div(one, ops::add(ops::mul(size, kP), 1));
  Tensor sum = ops::mul(t, kA[4]);
  for (int i = 3; i >= 0; --i) sum = ops::mul(ops::add(sum, kA[i]), t);
  const Tensor tail = ops::mul(sum, ops::exp(ops::neg(ops::square(x))));
  const Tensor positive = ops::add(ops::neg(tail), 1);
  const Tensor below = ops::less(x, x.device().impl().constant(0));
  return ops::where(below, ops::neg(positive), positive);
}

Tensor composed(const Tensor& x, Activation act) {
  switch (act) {
    case Activation::none:
      return x;
    case Activation::relu:
      // Where both are 0 the gradient goes to the constant: the slope of relu at 0 is 0.
      return ops::max(x.device().impl().constant(0), x);
    case Activation::tanh:
      return ops::tanh(x);
    case Activation::sigmoid:
      return ops::sigmoid(x);
    case Activation::silu:
      return ops::mul(x, ops::sigmoid(x));
    case Activation::gelu: {
      const auto root = static_cast<float>(1 / std::numbers::sqrt2);
      return ops::mul(ops::mul(x, ops::add(erf_of(ops::mul(x, root)), 1)), 0.5F);
    }
    case Activation::gelu_tanh: {
      const auto root = static_cast<float>(std::sqrt(2 / std::numbers::pi));
      const Tensor cube = ops::mul(ops::mul(ops::square(x), x), 0.044715F);
      const Tensor inner = ops::tanh(ops::mul(ops::add(x, cube), root));
      return ops::mul(ops::mul(x, ops::add(inner, 1)), 0.5F);
    }
    default:
      break;
  }
  const std::vector<Tensor> halves = ops::split(x, -1, 2);
  const Activation plain = act == Activation::geglu        ? Activation::gelu
                           : act == Activation::geglu_tanh ? Activation::gelu_tanh
                                                           : Activation::silu;
  return ops::mul(composed(halves[0], plain), halves[1]);
}

struct Kind {
  Activation activation;
};

// From the output where only that was kept.
Tensor gradient_from_output(const Tensor& y, const Tensor& dy, Activation act) {
  if (act == Activation::relu) {
    const Tensor zero = Tensor::zeros(y.device(), y.shape());
    return ops::where(ops::less(zero, y), dy, zero);
  }
  if (act == Activation::tanh) return ops::mul(dy, ops::add(ops::neg(ops::square(y)), 1));
  return ops::mul(dy, ops::mul(y, ops::add(ops::neg(y), 1)));
}

void activation_vjp(Vjp& v) {
  const Activation act = v.attributes<Kind>().activation;
  const Tensor& dy = v.grad_output();
  Device& device = dy.device();
  const bool in_place = !gated(act) && v.may_overwrite_grad_output();
  const Tensor dx = in_place ? dy : Tensor::empty(device, v.input(0).shape());
  const tv_view to = dx.view(), saved = v.saved(0).view(), from = dy.view();
  const bool native = device.try_kernel("act_bwd", &tv_backend::act_bwd,
                                        static_cast<tv_activation>(act), &to, &saved, &from);
  v.add(0, native ? dx : detail::activation_gradient(act, v.saved(0), dy));
}
constexpr OpDef kActivation{"activation", activation_vjp};

void softplus_vjp(Vjp& v) {
  v.add(0, ops::mul(v.grad_output(), ops::sigmoid(v.saved(0))));
}
constexpr OpDef kSoftplus{"softplus", softplus_vjp};

}  // namespace

// An op of its own: the slopes at 0 of the parts of max(x, 0) + log(1 + exp(-|x|)) do not add up.
Tensor ops::softplus(const Tensor& x) {
  detail::expect("softplus", "x", x);
  Tensor y;
  {
    NoGrad no_grad;
    const Tensor tail = log(add(exp(neg(abs(x))), 1));
    y = add(max(x, x.device().impl().constant(0)), tail);
  }
  record(kSoftplus, {x}, y, {x});
  return y;
}

bool detail::needs_input(Activation act) {
  return act != Activation::none && !keeps_output(act);
}

Tensor detail::activation_gradient(Activation act, const Tensor& saved, const Tensor& dy) {
  if (act == Activation::none) return dy;
  if (keeps_output(act)) {
    NoGrad no_grad;
    return gradient_from_output(saved, dy, act);
  }
  GradientSlot slot;
  const Tensor x = make_leaf(saved, slot);
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = composed(x, act);
  }
  tape.backward(y, dy);
  return slot.gradient;
}

Tensor ops::activation(const Tensor& input, Activation act) {
  detail::expect("activation", "x", input);
  if (act == Activation::none) return input;
  const Tensor x = contiguous(input);
  Shape shape = x.shape();
  if (gated(act)) {
    if (x.rank() < 1 || x.dim(-1) % 2 != 0) {
      detail::wrong("activation", "an even last axis for a gated activation",
                    x.shape().to_string());
    }
    shape.set(-1, x.dim(-1) / 2);
  }
  Device& device = x.device();
  Tensor y = Tensor::empty(device, shape);
  const tv_view to = y.mutable_view(), from = x.view();
  if (!device.try_kernel("act_fwd", &tv_backend::act_fwd, static_cast<tv_activation>(act), &to,
                         &from)) {
    y = {};
    return composed(x, act);
  }
  record(kActivation, {x}, y, {keeps_output(act) ? y : x}, Kind{act});
  return y;
}

}  // namespace trivet
