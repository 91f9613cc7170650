// SPDX-License-Identifier: Apache-2.0
// Rotary positions (Su 2021). The gradient is the rotation back.
#include "ops/compose_attention.h"
#include "ops/op_support.h"

namespace trivet {
namespace {

struct Rotation {
  float theta;
  std::int64_t rotary;
};

// Off the tape.
Tensor turned(const Tensor& x, const Tensor& positions, const Rotation& rotation, float sign) {
  Device& device = x.device();
  Tensor out = Tensor::empty(device, x.shape());
  tv_rope args{};
  args.struct_size = sizeof args;
  args.x = x.view();
  args.out = out.mutable_view();
  args.positions = static_cast<const std::int32_t*>(detail::memory(positions));
  args.rotary = rotation.rotary;
  args.theta = rotation.theta;
  args.sign = sign;
  if (device.try_kernel("rope", &tv_backend::rope, &args)) return out;
  NoGrad no_grad;
  return compose::rope(x, positions, rotation.theta, rotation.rotary, sign);
}

void rope_vjp(Vjp& v) {
  v.add(0, turned(v.grad_output(), v.saved(0), v.attributes<Rotation>(), -1));
}
constexpr OpDef kRope{"rope", rope_vjp};

}  // namespace

Tensor ops::rope(const Tensor& input, const Tensor& positions, float theta, std::int64_t rotary) {
  detail::expect("rope", "x", input);
  detail::expect_beside("rope", "positions", positions, input, DType::i32);
  if (input.rank() != 4 || positions.shape() != Shape{input.dim(0), input.dim(1)}) {
    detail::wrong("rope", "x [B, T, H, D] and positions i32 [B, T]",
                  input.to_string() + " and " + positions.to_string());
  }
  if (rotary == 0) rotary = input.dim(3);
  if (rotary < 0 || rotary % 2 != 0 || rotary > input.dim(3)) {
    detail::wrong("rope", "an even number of features, at most " + std::to_string(input.dim(3)),
                  std::to_string(rotary));
  }
  const Tensor x = contiguous(input), at = contiguous(positions);
  const Rotation rotation{theta, rotary};
  Tensor y = turned(x, at, rotation, 1);
  record(kRope, {x}, y, {at}, rotation);
  return y;
}

}  // namespace trivet
