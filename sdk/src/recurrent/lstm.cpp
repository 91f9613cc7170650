// SPDX-License-Identifier: Apache-2.0
#include "trivet/recurrent/lstm.h"

#include <utility>

#include "recurrent/scan.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

struct Attributes {
  LstmOptions options;
  detail::Sequence sequence;
};

tv_lstm arguments(const Tensor& gates, const Tensor& w, const LstmState& states,
                  const LstmState& before, const Tensor& marks, const Attributes& a) {
  tv_lstm args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.coupled = a.options.coupled_gates ? 1 : 0;
  args.forget_bias = a.options.forget_gate_bias;
  args.cap = a.options.cell_value_cap;
  args.sequence = detail::sequence_of(states.h, a.sequence, marks);
  args.w = detail::memory(w);
  args.h0 = detail::memory_or_null(before.h);
  args.c0 = detail::memory_or_null(before.c);
  args.gates = detail::memory(gates);
  args.h = detail::memory(states.h);
  args.c = detail::memory(states.c);
  return args;
}

// Saved: gates, w, h, c, h0, c0, marks. The gradient of the gates takes over their memory.
void lstm_vjp(Vjp& v) {
  const Tensor &gates = v.saved(0), &w = v.saved(1), &h0 = v.saved(4), &c0 = v.saved(5);
  Device& device = w.device();
  const Vjp::Target dw = v.wants(1) ? v.target(1) : Vjp::Target{{}, 0};
  const Tensor dh0 = v.wants(2) ? Tensor::empty(device, h0.shape()) : Tensor();
  const Tensor dc0 = v.wants(3) ? Tensor::empty(device, c0.shape()) : Tensor();
  tv_lstm_grad args{};
  args.struct_size = sizeof args;
  args.fwd = arguments(gates, w, {v.saved(2), v.saved(3)}, {h0, c0}, v.saved(6),
                       v.attributes<Attributes>());
  args.dh = detail::memory_or_null(v.grad_output(0));
  args.dlast_c = detail::memory_or_null(v.grad_output(1));
  args.dw = detail::memory_or_null(dw.gradient);
  args.dh0 = detail::memory_or_null(dh0);
  args.dc0 = detail::memory_or_null(dc0);
  args.beta_dw = dw.beta;
  if (!device.try_extension<tv_lstm_bwd_fn>(TV_LSTM_BWD, &args)) {
    detail::missing_gradient(device, TV_LSTM_FWD, TV_LSTM_BWD);
  }
  if (dh0.defined()) v.add(2, dh0);
  if (dc0.defined()) v.add(3, dc0);
  v.add(0, gates);
}
constexpr OpDef kLstm{"lstm", lstm_vjp};

LstmResult composed(const Tensor& gates, const Tensor& w, const LstmState& before,
                    const LstmOptions& options, const ScanOptions& positions) {
  const Shape shape{gates.dim(0), w.dim(0)};
  const auto or_zeros = [&](const Tensor& state) {
    return state.defined() ? state : Tensor::zeros(gates.device(), shape);
  };
  RecurrentState state{or_zeros(before.h), or_zeros(before.c)};
  const Tensor h = ops::scan(gates, state, positions,
                             [&](const Tensor& x, const RecurrentState& last, std::int64_t) {
                               const Tensor all = ops::add(x, ops::matmul(last[0], w));
                               const LstmState next = ops::lstm_cell(all, last[1], options);
                               return RecurrentState{next.h, next.c};
                             });
  return {h, state[1]};
}

void check(const Tensor& gates, const Tensor& w, const LstmState& before,
           const LstmOptions& options) {
  const bool fits = gates.rank() == 3 && gates.dim(1) > 0 && w.rank() == 2 &&
                    w.dim(1) == options.gates() * w.dim(0) && gates.dim(2) == w.dim(1);
  const Shape state = fits ? Shape{gates.dim(0), w.dim(0)} : Shape{};
  const auto is_state = [&](const Tensor& x) { return !x.defined() || x.shape() == state; };
  if (fits && is_state(before.h) && is_state(before.c)) return;
  const std::string width = std::to_string(options.gates()) + " n]";
  detail::wrong("lstm", "gates [B, T, " + width + ", T >= 1, w [n, " + width + " and states [B, n]",
                detail::shapes({&gates, &w, &before.h, &before.c}));
}

}  // namespace

LstmState ops::lstm_cell(const Tensor& gates, const Tensor& c, const LstmOptions& options) {
  const int count = options.gates();
  if (gates.rank() != 2 || c.rank() != 2 || gates.dim(1) != count * c.dim(1)) {
    detail::wrong("lstm_cell", "gates [B, " + std::to_string(count) + " n] and c [B, n]",
                  detail::shapes({&gates, &c}));
  }
  const std::vector<Tensor> each = split(gates, 1, count);
  const Tensor input = tanh(each[0]), input_gate = sigmoid(each[1]);
  Tensor next;
  if (options.coupled_gates) {
    next = add(c, mul(input_gate, sub(input, c)));
  } else {
    const Tensor forget = sigmoid(add(each[2], options.forget_gate_bias));
    next = add(mul(forget, c), mul(input_gate, input));
  }
  if (const float cap = options.cell_value_cap; cap > 0) {
    Device& device = next.device();
    next = max(min(next, Tensor::scalar(device, cap)), Tensor::scalar(device, -cap));
  }
  return {mul(sigmoid(each.back()), tanh(next)), next};
}

LstmResult ops::lstm(Tensor gates, const Tensor& weights, const LstmState& given_before,
                     const LstmOptions& options, const ScanOptions& positions) {
  detail::expect("lstm", "gates", gates);
  const Tensor w = detail::operand_beside("lstm", "w", weights, gates);
  const LstmState before{detail::optional_operand("lstm", "h", given_before.h, gates),
                         detail::optional_operand("lstm", "c", given_before.c, gates)};
  check(gates, w, before, options);
  detail::check_marks("lstm", gates, positions);
  Device& device = w.device();
  const Shape shape{gates.dim(0), gates.dim(1), w.dim(0)};
  LstmResult out{Tensor::empty(device, shape), {}};
  const LstmState states{out.h, Tensor::empty(device, shape)};
  const Attributes attributes{options, detail::Sequence(positions)};
  const Tensor marks = detail::joined_marks(positions);
  const Tensor memory = detail::own_memory(gates);
  const tv_lstm args = arguments(memory, w, states, before, marks, attributes);
  if (!device.try_extension<tv_lstm_fwd_fn>(TV_LSTM_FWD, &args)) {
    return composed(gates, w, before, options, positions);
  }
  out.last_c = detail::last_state(states.c, positions);
  const bool records = detail::recording_any({&gates, &w, &before.h, &before.c});
  const double flops = 2.0 * static_cast<double>(gates.size()) * static_cast<double>(w.dim(0));
  device.count_flops(flops * (1 + (records ? 1 : 0) + (detail::recording_any({&w}) ? 1 : 0)));
  if (!records) return out;
  const Tensor inputs[] = {gates, w, before.h, before.c};
  // The output may be saved only as another header: it is about to get its position on the tape.
  const Tensor saved[] = {memory, w, stop_gradient(out.h), states.c, before.h, before.c, marks};
  Tensor outputs[] = {out.h, out.last_c};
  record(kLstm, inputs, outputs, saved, &attributes, sizeof attributes);
  return {outputs[0], outputs[1]};
}

}  // namespace trivet
