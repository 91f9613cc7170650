// SPDX-License-Identifier: Apache-2.0
// ops::lstm against its formula in double.
#include "trivet/recurrent/lstm.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/recurrent/recurrent_case.h"
#include "trivet/backend/kernels/recurrent.h"
#include "trivet/error.h"
#include "trivet/tape.h"
#ifdef TRIVET_TEST_CPU
#include "cpu/backend.h"
#endif

namespace trivet::test {
namespace {

using Catch::Contains;

// The states after one position.
States step_of(const LstmOptions& o, const Array& gates, const Array& w, std::int64_t b,
               std::int64_t t, const States& before) {
  States next(2);
  for (std::int64_t j = 0; j < kUnits; ++j) {
    const auto gate = [&](std::int64_t n) {
      const std::int64_t column = n * kUnits + j;
      return gates.at({b, t, column}) + product(before[0], w, column);
    };
    const double c = before[1][static_cast<std::size_t>(j)], input_gate = sigmoid(gate(1));
    const double forget = o.coupled_gates
                              ? 1 - input_gate
                              : sigmoid(gate(2) + static_cast<double>(o.forget_gate_bias));
    double sum = forget * c + input_gate * std::tanh(gate(0));
    const auto cap = static_cast<double>(o.cell_value_cap);
    if (cap > 0) sum = std::clamp(sum, -cap, cap);
    next[0].push_back(sigmoid(gate(o.gates() - 1)) * std::tanh(sum));
    next[1].push_back(sum);
  }
  return next;
}

enum class Returns { h, last_c };

OpCase lstm_case(const LstmOptions& o, const Marks& marks, bool with_states, Returns returns) {
  const std::int64_t width = o.gates() * kUnits;
  OpCase c{.name = "lstm" + marks.name() + (o.coupled_gates ? " coupled" : "") +
                   (with_states ? " states" : "") + (returns == Returns::h ? "" : " last c"),
           .inputs = {{{kBatch, kTime, width}}, {{kUnits, width}}},
           .op = {},
           .reference = {}};
  if (with_states) c.inputs.insert(c.inputs.end(), {{{kBatch, kUnits}}, {{kBatch, kUnits}}});
  c.op = [=](auto in) {
    const LstmState before = with_states ? LstmState{in[2], in[3]} : LstmState();
    const LstmResult y = ops::lstm(in[0], in[1], before, o, marks.options(in[0].device()));
    return returns == Returns::h ? y.h : y.last_c;
  };
  c.reference = [=](auto in) {
    Array h{{kBatch, kTime, kUnits}, std::vector<double>(kBatch * kTime * kUnits)};
    Array last{{kBatch, kUnits}, std::vector<double>(kBatch * kUnits)};
    const auto first = [&](std::int64_t b) {
      if (with_states) return States{row_of(in[2], b), row_of(in[3], b)};
      return States(2, std::vector<double>(kUnits));
    };
    each_position(
        marks, first,
        [&](auto b, auto t, const States& before) {
          return step_of(o, in[0], in[1], b, t, before);
        },
        [&](auto b, auto t, const States& after) {
          std::ranges::copy(after[0], h.values.begin() + (b * kTime + t) * kUnits);
          std::ranges::copy(after[1], last.values.begin() + b * kUnits);
        });
    return returns == Returns::h ? h : last;
  };
  return c;
}

Tensor drawn(Device& device, const Shape& shape, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  random_uniform(RngKey(seed), -1, 1, values);
  return Tensor::from<float>(device, values, shape);
}

}  // namespace

TEST_CASE("lstm computes all positions, and its gradient", "[ops]") {
  for (const Marks& marks : all_marks()) {
    check(lstm_case({}, marks, false, Returns::h));
    check(lstm_case({.forget_gate_bias = 1}, marks, true, Returns::h));
    check(lstm_case({.coupled_gates = true}, marks, true, Returns::last_c));
    check(lstm_case({.cell_value_cap = 2}, marks, true, Returns::last_c));
  }
}

TEST_CASE("lstm clips the cell, which has no gradient then", "[ops]") {
  OpCase clipped = lstm_case({.cell_value_cap = 0.3F}, {true, true, false}, true, Returns::h);
  clipped.differentiable = false;  // central differences cross the bound
  check(clipped);
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot slot;
    // [i, g, f, o] of one unit: the cell is 1 * 5 + ..., far beyond the cap.
    const Tensor gates = make_leaf(
        Tensor::from<float>(*device, std::vector<float>{0.5F, 0.5F, 9, 0.25F}, {1, 1, 4}), slot);
    const Tensor w = Tensor::zeros(*device, {1, 4});
    const LstmState before{Tensor::zeros(*device, {1, 1}), Tensor::full(*device, {1, 1}, 5)};
    Tape tape;
    Tensor h;
    {
      Tape::Recording recording(tape);
      h = ops::sum(ops::lstm(gates, w, before, {.cell_value_cap = 0.5F}).h);
    }
    tape.backward(h);
    const std::vector<float> d = slot.gradient.to_host<float>();
    CHECK(d[0] == 0);
    CHECK(d[1] == 0);
    CHECK(d[2] == 0);
    CHECK(d[3] == Approx(std::tanh(0.5) * sigmoid(0.25) * (1 - sigmoid(0.25))));
  }
}

TEST_CASE("lstm leaves gates alone that someone else sees", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor gates = drawn(*device, {2, 3, 8}, 1), w = drawn(*device, {2, 8}, 2);
    const std::vector<float> given = gates.to_host<float>();
    const std::vector<float> first = ops::lstm(gates, w).h.to_host<float>();
    CHECK(gates.to_host<float>() == given);
    Tensor own = Tensor::from<float>(*device, given, gates.shape());
    CHECK(ops::lstm(std::move(own), w).h.to_host<float>() == first);
    const Tensor whole = drawn(*device, {2, 4, 8}, 1);
    Tensor view = ops::slice(whole, 1, 1, 4);
    const std::vector<float> before = whole.to_host<float>();
    ops::lstm(std::move(view), w);
    CHECK(whole.to_host<float>() == before);
  }
}

TEST_CASE("lstm continues from the state that it returns", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor gates = drawn(*device, {3, 6, 20}, 1), w = drawn(*device, {5, 20}, 2);
    const Tensor whole = ops::lstm(gates, w).h;
    std::vector<Tensor> parts;
    LstmState state;
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 5}, {5, 6}}) {
      const LstmResult y = ops::lstm(ops::slice(gates, 1, begin, end), w, state);
      const Tensor last = ops::slice(y.h, 1, end - begin - 1, end - begin);
      state = {ops::reshape(last, {3, 5}), y.last_c};
      parts.push_back(y.h);
    }
    const std::vector<float> got = ops::concat(parts, 1).to_host<float>();
    const std::vector<float> want = whole.to_host<float>();
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-6));
  }
}

TEST_CASE("lstm counts the products of the state and their gradients", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot of_w, of_h;
    const Tensor gates = drawn(*device, {2, 3, 20}, 1);
    const Tensor w = make_leaf(drawn(*device, {5, 20}, 2), of_w);
    const LstmState before{make_leaf(drawn(*device, {2, 5}, 3), of_h), {}};
    constexpr double kProducts = 2.0 * 2 * 3 * 5 * 20;
    const double start = device->flops();
    {
      const NoGrad no_grad;
      ops::lstm(gates, w, before);
    }
    CHECK(device->flops() - start == kProducts);
    Tape tape;
    const Tape::Recording recording(tape);
    ops::lstm(gates, w, before);
    CHECK(device->flops() - start == kProducts + 3 * kProducts);
  }
}

TEST_CASE("lstm reports shapes that do not fit", "[ops]") {
  const auto device = open_any();
  const auto zeros = [&](const Shape& shape) { return Tensor::zeros(*device, shape); };
  const Tensor gates = zeros({2, 3, 8}), w = zeros({2, 8});
  CHECK_THROWS_WITH(ops::lstm(gates, zeros({3, 8})),
                    Contains("[lstm] expected gates [B, T, 4 n], T >= 1, w [n, 4 n]"));
  CHECK_THROWS_WITH(ops::lstm(gates, w, {}, {.coupled_gates = true}), Contains("3 n"));
  CHECK_THROWS_WITH(ops::lstm(zeros({2, 0, 8}), w), Contains("T >= 1"));
  CHECK_THROWS_WITH(ops::lstm(zeros({2, 8}), w), Contains("[lstm] expected gates"));
  CHECK_THROWS_WITH(ops::lstm(gates, w, {zeros({2, 3}), {}}), Contains("states [B, n]"));
  CHECK_THROWS_WITH(ops::lstm(gates, w, {{}, zeros({3, 2})}), Contains("states [B, n]"));
  CHECK_THROWS_WITH(ops::lstm(gates, w, {}, {}, {.paddings = zeros({3, 2})}),
                    Contains("[lstm] expected paddings [B, T]"));
  CHECK_THROWS_WITH(ops::lstm(gates, w, {}, {}, {.starts = zeros({2, 3, 1})}),
                    Contains("[lstm] expected starts [B, T]"));
  CHECK_THROWS_WITH(ops::lstm_cell(zeros({2, 8}), zeros({2, 3})),
                    Contains("[lstm_cell] expected gates [B, 4 n] and c [B, n]"));
}

#ifdef TRIVET_TEST_CPU
TEST_CASE("a backend with an lstm kernel and without its gradient is reported", "[ops]") {
  tv_backend table = *cpu::get();
  table.extension = [](tv_ctx* context, const char* name) -> const void* {
    const bool backward = std::strcmp(name, TV_LSTM_BWD) == 0;
    return backward ? nullptr : cpu::get()->extension(context, name);
  };
  const auto device = Device::open(&table);
  GradientSlot slot;
  const Tensor w = make_leaf(drawn(*device, {2, 8}, 2), slot);
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = ops::sum(ops::lstm(drawn(*device, {2, 3, 8}, 1), w).h);
  }
  CHECK_THROWS_WITH(tape.backward(y), Contains("has a kernel lstm_fwd/1, but none for lstm_bwd/1"));
}
#endif

}  // namespace trivet::test
