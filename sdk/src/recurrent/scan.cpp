// SPDX-License-Identifier: Apache-2.0
#include "recurrent/scan.h"

#include <span>
#include <utility>

#include "trivet/tensor/device.h"

namespace trivet {
namespace {

// Splits x [B, T, n] into T tensors [B, 1, n] by halving: each of T direct slices would have a
// gradient as large as x.
void halve(const Tensor& x, std::vector<Tensor>& positions) {
  const std::int64_t length = x.dim(1);
  if (length <= 1) {
    positions.push_back(x);
    return;
  }
  halve(ops::slice(x, 1, 0, length / 2), positions);
  halve(ops::slice(x, 1, length / 2, length), positions);
}

Tensor joined(std::span<const Tensor> positions) {
  if (positions.size() == 1) return positions.front();
  const std::size_t half = positions.size() / 2;
  return ops::concat(
      std::vector<Tensor>{joined(positions.first(half)), joined(positions.subspan(half))}, 1);
}

// Of position t, [B, 1]; undefined if there are none.
Tensor marks_at(const Tensor& marks, std::int64_t t) {
  if (!marks.defined()) return {};
  NoGrad no_grad;
  return ops::contiguous(ops::slice(marks, 1, t, t + 1));
}

Tensor without(const Tensor& mark) {
  return ops::add(ops::neg(mark), 1);
}

}  // namespace

namespace detail {

void check_marks(const char* op, const Tensor& x, const ScanOptions& options) {
  const Shape shape{x.dim(0), x.dim(1)};
  const auto check = [&](const char* name, const Tensor& marks) {
    if (!marks.defined()) return;
    expect_beside(op, name, marks, x);
    if (marks.shape() != shape) {
      wrong(op, name + std::string(" [B, T]"), shapes({&marks, &x}));
    }
  };
  check("starts", options.starts);
  check("paddings", options.paddings);
}

Tensor joined_marks(const ScanOptions& options) {
  NoGrad no_grad;
  std::vector<Tensor> marks;
  for (const Tensor* each : {&options.starts, &options.paddings}) {
    if (!each->defined()) continue;
    marks.push_back(ops::reshape(ops::contiguous(*each), {1, each->dim(0), each->dim(1)}));
  }
  return marks.empty() ? Tensor() : ops::concat(marks, 0);
}

tv_sequence sequence_of(const Tensor& states, const Sequence& sequence, const Tensor& marks) {
  tv_sequence out{};
  out.batch = states.dim(0);
  out.time = states.dim(1);
  out.units = states.dim(2);
  out.reverse = sequence.reverse ? 1 : 0;
  const auto* const values = static_cast<const float*>(memory_or_null(marks));
  if (sequence.starts) out.starts = values;
  if (sequence.paddings) {
    out.paddings = sequence.starts ? values + out.batch * out.time : values;
  }
  return out;
}

Tensor own_memory(const Tensor& gates) {
  if (gates.contiguous() && exclusive(gates)) return gates;
  const Tensor copy = Tensor::empty(gates.device(), gates.shape());
  copy_into(copy.view(), gates);
  return copy;
}

Tensor last_state(const Tensor& states, const ScanOptions& positions) {
  NoGrad no_grad;
  const std::int64_t last = positions.reverse ? 0 : states.dim(1) - 1;
  const Tensor one = ops::contiguous(ops::slice(states, 1, last, last + 1));
  return ops::reshape(one, {states.dim(0), states.dim(2)});
}

void missing_gradient(const Device& device, const char* forward, const char* gradient) {
  throw Error(
      "backend \"" + device.key() + "\" has a kernel " + forward + ", but none for " + gradient,
      {.hint = "offer both for the same arguments, or neither"});
}

}  // namespace detail

Tensor ops::scan(const Tensor& x, RecurrentState& state, const ScanOptions& options,
                 const ScanStep& step) {
  detail::expect("scan", "x", x);
  if (x.rank() < 2 || x.dim(1) < 1 || state.empty()) {
    detail::wrong("scan", "x [B, T, ..] with T >= 1, and a state", x.to_string());
  }
  detail::check_marks("scan", x, options);
  const std::int64_t batch = x.dim(0), length = x.dim(1);
  std::vector<std::int64_t> extents(x.shape().begin(), x.shape().end());
  extents.erase(extents.begin() + 1);
  const Shape one(extents);
  std::vector<Tensor> inputs, outputs(static_cast<std::size_t>(length));
  halve(x, inputs);
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t t = options.reverse ? length - 1 - i : i;
    const Tensor start = marks_at(options.starts, t), padding = marks_at(options.paddings, t);
    if (start.defined()) {
      for (Tensor& each : state) each = mul(each, without(start));
    }
    RecurrentState after = step(reshape(inputs[static_cast<std::size_t>(t)], one), state, t);
    for (std::size_t k = 0; padding.defined() && k < state.size(); ++k) {
      after[k] = add(mul(state[k], padding), mul(after[k], without(padding)));
    }
    state = std::move(after);
    outputs[static_cast<std::size_t>(t)] = reshape(state[0], {batch, 1, state[0].dim(1)});
  }
  return joined(outputs);
}

}  // namespace trivet
