// SPDX-License-Identifier: Apache-2.0
#include "trivet/recurrent/gru.h"

#include <utility>

#include "recurrent/scan.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

constexpr int kGates = 3;

struct GruStates {
  Tensor h, product;
};

tv_gru arguments(const Tensor& gates, const GruWeights& weights, const GruStates& states,
                 const Tensor& before, const Tensor& marks, const detail::Sequence& sequence) {
  tv_gru args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.sequence = detail::sequence_of(states.h, sequence, marks);
  args.w = detail::memory(weights.u);
  args.bias = detail::memory(weights.c);
  args.h0 = detail::memory_or_null(before);
  args.gates = detail::memory(gates);
  args.product = detail::memory(states.product);
  args.h = detail::memory(states.h);
  return args;
}

// Saved: gates, u, c, h, product, h0, marks. The gradient of the gates takes over their memory.
void gru_vjp(Vjp& v) {
  const Tensor &gates = v.saved(0), &h0 = v.saved(5);
  const GruWeights weights{v.saved(1), v.saved(2)};
  Device& device = gates.device();
  const Vjp::Target du = v.wants(1) ? v.target(1) : Vjp::Target{{}, 0};
  const Vjp::Target dc = v.wants(2) ? v.target(2) : Vjp::Target{{}, 0};
  const Tensor dh0 = v.wants(3) ? Tensor::empty(device, h0.shape()) : Tensor();
  tv_gru_grad args{};
  args.struct_size = sizeof args;
  args.fwd = arguments(gates, weights, {v.saved(3), v.saved(4)}, h0, v.saved(6),
                       v.attributes<detail::Sequence>());
  args.dh = detail::memory(v.grad_output());
  args.dw = detail::memory_or_null(du.gradient);
  args.dbias = detail::memory_or_null(dc.gradient);
  args.dh0 = detail::memory_or_null(dh0);
  args.beta_dw = du.beta;
  args.beta_dbias = dc.beta;
  if (!device.try_extension<tv_gru_bwd_fn>(TV_GRU_BWD, &args)) {
    detail::missing_gradient(device, TV_GRU_FWD, TV_GRU_BWD);
  }
  if (dh0.defined()) v.add(3, dh0);
  v.add(0, gates);
}
constexpr OpDef kGru{"gru", gru_vjp};

Tensor composed(const Tensor& gates, const GruWeights& weights, const Tensor& before,
                const ScanOptions& positions) {
  RecurrentState state{
      before.defined() ? before : Tensor::zeros(gates.device(), {gates.dim(0), weights.u.dim(0)})};
  return ops::scan(gates, state, positions,
                   [&](const Tensor& x, const RecurrentState& last, std::int64_t) {
                     return RecurrentState{ops::gru_cell(x, last[0], weights)};
                   });
}

void check(const Tensor& gates, const GruWeights& weights, const Tensor& before) {
  const auto& [u, c] = weights;
  const bool fits = gates.rank() == 3 && gates.dim(1) > 0 && u.rank() == 2 &&
                    u.dim(1) == kGates * u.dim(0) && gates.dim(2) == u.dim(1) &&
                    c.shape() == Shape{u.dim(0)} &&
                    (!before.defined() || before.shape() == Shape{gates.dim(0), u.dim(0)});
  if (fits) return;
  detail::wrong("gru", "gates [B, T, 3 n], T >= 1, u [n, 3 n], c [n] and a state [B, n]",
                detail::shapes({&gates, &u, &c, &before}));
}

}  // namespace

Tensor ops::gru_cell(const Tensor& gates, const Tensor& h, const GruWeights& weights) {
  if (gates.rank() != 2 || h.rank() != 2 || gates.dim(1) != kGates * h.dim(1)) {
    detail::wrong("gru_cell", "gates [B, 3 n] and h [B, n]", detail::shapes({&gates, &h}));
  }
  const std::vector<Tensor> of_x = split(gates, 1, kGates);
  const std::vector<Tensor> of_h = split(matmul(h, weights.u), 1, kGates);
  const Tensor reset = sigmoid(add(of_x[0], of_h[0])), update = sigmoid(add(of_x[1], of_h[1]));
  const Tensor next = tanh(add(of_x[2], mul(reset, add(of_h[2], weights.c))));
  return add(next, mul(update, sub(h, next)));
}

Tensor ops::gru(Tensor gates, const GruWeights& given, const Tensor& given_before,
                const ScanOptions& positions) {
  detail::expect("gru", "gates", gates);
  const GruWeights weights{detail::operand_beside("gru", "u", given.u, gates),
                           detail::operand_beside("gru", "c", given.c, gates)};
  const Tensor before = detail::optional_operand("gru", "h", given_before, gates);
  check(gates, weights, before);
  detail::check_marks("gru", gates, positions);
  const Tensor &u = weights.u, &c = weights.c;
  Device& device = u.device();
  const Shape shape{gates.dim(0), gates.dim(1), u.dim(0)};
  Tensor h = Tensor::empty(device, shape);
  const GruStates states{h, Tensor::empty(device, shape)};
  const detail::Sequence sequence(positions);
  const Tensor marks = detail::joined_marks(positions);
  const Tensor memory = detail::own_memory(gates);
  const tv_gru args = arguments(memory, weights, states, before, marks, sequence);
  if (!device.try_extension<tv_gru_fwd_fn>(TV_GRU_FWD, &args)) {
    return composed(gates, weights, before, positions);
  }
  const bool records = detail::recording_any({&gates, &u, &c, &before});
  const double flops = 2.0 * static_cast<double>(gates.size()) * static_cast<double>(u.dim(0));
  device.count_flops(flops * (1 + (records ? 1 : 0) + (detail::recording_any({&u}) ? 1 : 0)));
  if (!records) return h;
  // The output may be saved only as another header: it is about to get its position on the tape.
  record(kGru, {gates, u, c, before}, h,
         {memory, u, c, stop_gradient(h), states.product, before, marks}, sequence);
  return h;
}

}  // namespace trivet
