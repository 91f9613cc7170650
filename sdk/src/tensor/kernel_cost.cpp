// SPDX-License-Identifier: Apache-2.0
#include "tensor/kernel_cost.h"

#include <algorithm>
#include <cstdint>

#include "trivet/backend/dtype.h"

namespace trivet::detail {
namespace {

double number(std::int64_t n) {
  return static_cast<double>(n);
}

double size_of_one(std::uint8_t dtype) {
  return number(static_cast<std::int64_t>(size_of(static_cast<DType>(dtype))));
}

double count(bool is_there) {
  return is_there ? 1 : 0;
}

// n numbers of the type for each pointer that is not null.
template <class... P>
double bytes_of(std::uint8_t dtype, double n, const P*... pointers) {
  return size_of_one(dtype) * n * (count(pointers != nullptr) + ... + 0);
}

// The pairs of positions of one head that see each other, segments left out.
double seen_pairs(const tv_attention& a) {
  const std::int64_t queries = a.q.shape[1], keys = a.k.shape[1];
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t position = i + a.q_offset;
    const std::int64_t end = a.causal != 0 ? std::clamp<std::int64_t>(position + 1, 0, keys) : keys;
    const std::int64_t begin =
        a.window > 0 ? std::max<std::int64_t>(position - a.window + 1, 0) : 0;
    pairs += std::max<std::int64_t>(end - begin, 0);
  }
  return number(pairs);
}

// Of one product of scores with values.
double attention_product(const tv_attention& a) {
  return 2 * number(a.q.shape[0] * a.q.shape[2] * a.q.shape[3]) * seen_pairs(a);
}

double pixels(const tv_conv2d_shape& s, std::int64_t height, std::int64_t width,
              std::int64_t channels) {
  return number(s.batch * height * width * channels);
}

struct ConvSizes {
  double x, w, y, product;
};

ConvSizes sizes_of(const tv_conv2d_shape& s) {
  const double w = number(s.kernel_h * s.kernel_w * s.in_c * s.out_c);
  return {pixels(s, s.in_h, s.in_w, s.in_c), w, pixels(s, s.out_h, s.out_w, s.out_c),
          2 * pixels(s, s.out_h, s.out_w, 1) * w};
}

// Of one call: the products with the weights, and the arrays of all positions.
KernelCost recurrent(std::uint8_t dtype, const tv_sequence& s, double gates, double products,
                     double arrays) {
  const double states = number(s.batch * s.time * s.units), width = gates * number(s.units);
  return {products * 2 * states * width,
          size_of_one(dtype) * (states * (gates + arrays) + number(s.units) * width)};
}

double gates_of(const tv_lstm& a) {
  return a.coupled != 0 ? 3 : 4;
}

}  // namespace

KernelCost cost_of(const tv_view& view) {
  double elements = 1, stored = 1;
  for (int axis = 0; axis < view.rank; ++axis) {
    elements *= number(view.shape[axis]);
    if (view.stride[axis] != 0) stored *= number(view.shape[axis]);
  }
  return {elements, stored * size_of_one(view.dtype)};
}

KernelCost cost_of(const tv_matmul& a) {
  const auto matrices = [&](std::int64_t stride) { return stride == 0 ? 1 : number(a.batch); };
  const double elements = matrices(a.stride_a) * number(a.m * a.k) +
                          matrices(a.stride_b) * number(a.k * a.n) +
                          matrices(a.stride_c) * number(a.m * a.n);
  return {2 * number(a.batch) * number(a.m) * number(a.n) * number(a.k),
          elements * size_of_one(a.dtype)};
}

KernelCost cost_of(const tv_linear& a) {
  const double product = 2 * number(a.rows) * number(a.in) * number(a.out);
  return {product, bytes_of(a.dtype, number(a.rows * a.in), a.x) +
                       bytes_of(a.dtype, number(a.in * a.out), a.w) +
                       bytes_of(a.dtype, number(a.rows * a.out), a.y, a.pre)};
}

KernelCost cost_of(const tv_linear_grad& a) {
  const double product = 2 * number(a.rows) * number(a.in) * number(a.out);
  return {product * (count(a.dx != nullptr) + count(a.dw != nullptr)),
          bytes_of(a.dtype, number(a.rows * a.in), a.x, a.dx) +
              bytes_of(a.dtype, number(a.in * a.out), a.w, a.dw) +
              bytes_of(a.dtype, number(a.rows * a.out), a.saved, a.dy)};
}

KernelCost cost_of(const tv_norm& a) {
  const double n = number(a.rows * a.n);
  return {n, bytes_of(a.dtype, n, a.x, a.residual, a.sum, a.y)};
}

KernelCost cost_of(const tv_norm_grad& a) {
  const double n = number(a.rows * a.n);
  return {n, bytes_of(a.dtype, n, a.x, a.dy, a.dx)};
}

// The gradient as defined: products for dq, dk, dv and for the weights' gradient.
KernelCost cost_of(const tv_attention& a) {
  return {2 * attention_product(a),
          cost_of(a.q).bytes + cost_of(a.k).bytes + cost_of(a.v).bytes + cost_of(a.out).bytes};
}

KernelCost cost_of(const tv_attention_grad& a) {
  return {4 * attention_product(a.fwd), cost_of(a.fwd).bytes + cost_of(a.dout).bytes +
                                            cost_of(a.dq).bytes + cost_of(a.dk).bytes +
                                            cost_of(a.dv).bytes};
}

KernelCost cost_of(const tv_rope& a) {
  const KernelCost x = cost_of(a.x), out = cost_of(a.out);
  return {x.flops, x.bytes + out.bytes};
}

KernelCost cost_of(const tv_softmax_xent& a) {
  const double n = number(a.rows * a.classes);
  return {n, bytes_of(a.dtype, n, a.logits, a.dlogits)};
}

KernelCost cost_of(const tv_linear_xent& a) {
  const double product = 2 * number(a.rows) * number(a.in) * number(a.classes);
  return {product * (1 + count(a.dh != nullptr) + count(a.dw != nullptr)),
          bytes_of(a.dtype, number(a.rows * a.in), a.h, a.dh) +
              bytes_of(a.dtype, number(a.in * a.classes), a.w, a.dw)};
}

KernelCost cost_of(const tv_dropout& a) {
  return {number(a.n), bytes_of(a.dtype, number(a.n), a.x, a.out)};
}

KernelCost cost_of(const tv_optim& a) {
  return {number(a.n), bytes_of(TV_F32, number(a.n), a.param, a.grad, a.slot0, a.slot1)};
}

KernelCost cost_of(const tv_conv2d& a) {
  const ConvSizes s = sizes_of(a.shape);
  return {s.product, bytes_of(a.dtype, s.x, a.x) + bytes_of(a.dtype, s.w, a.w) +
                         bytes_of(a.dtype, s.y, a.y, a.pre)};
}

KernelCost cost_of(const tv_conv2d_grad& a) {
  const ConvSizes s = sizes_of(a.shape);
  return {s.product * (count(a.dx != nullptr) + count(a.dw != nullptr)),
          bytes_of(a.dtype, s.x, a.x, a.dx) + bytes_of(a.dtype, s.w, a.w, a.dw) +
              bytes_of(a.dtype, s.y, a.saved, a.dy)};
}

KernelCost cost_of(const tv_pool2d& a) {
  const ConvSizes s = sizes_of(a.shape);
  return {s.x, bytes_of(a.dtype, s.x, a.x) + bytes_of(a.dtype, s.y, a.y)};
}

KernelCost cost_of(const tv_pool2d_grad& a) {
  const ConvSizes s = sizes_of(a.shape);
  return {s.x, bytes_of(a.dtype, s.x, a.dx) + bytes_of(a.dtype, s.y, a.dy)};
}

KernelCost cost_of(const tv_batch_norm& a) {
  const double n = number(a.rows * a.n);
  return {n, bytes_of(a.dtype, n, a.x, a.y)};
}

KernelCost cost_of(const tv_batch_norm_grad& a) {
  const double n = number(a.rows * a.n);
  return {n, bytes_of(a.dtype, n, a.x, a.y, a.dy, a.dx)};
}

KernelCost cost_of(const tv_lstm& a) {
  return recurrent(a.dtype, a.sequence, gates_of(a), 1, 2);
}

KernelCost cost_of(const tv_lstm_grad& a) {
  return recurrent(a.fwd.dtype, a.fwd.sequence, gates_of(a.fwd), 1 + count(a.dw != nullptr), 3);
}

KernelCost cost_of(const tv_gru& a) {
  return recurrent(a.dtype, a.sequence, 3, 1, 2);
}

KernelCost cost_of(const tv_gru_grad& a) {
  return recurrent(a.fwd.dtype, a.fwd.sequence, 3, 1 + count(a.dw != nullptr), 3);
}

}  // namespace trivet::detail
