// SPDX-License-Identifier: Apache-2.0
// ops::gru against its formula in double.
#include "trivet/recurrent/gru.h"

#include <algorithm>
#include <utility>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/recurrent/recurrent_case.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Catch::Contains;

States step_of(const Array& gates, const Array& u, const Array& c, std::int64_t b, std::int64_t t,
               const States& before) {
  States next(1);
  for (std::int64_t j = 0; j < kUnits; ++j) {
    const auto of_x = [&](std::int64_t n) { return gates.at({b, t, n * kUnits + j}); };
    const auto of_h = [&](std::int64_t n) { return product(before[0], u, n * kUnits + j); };
    const double reset = sigmoid(of_x(0) + of_h(0)), update = sigmoid(of_x(1) + of_h(1));
    const double candidate = std::tanh(of_x(2) + reset * (of_h(2) + c.at({j})));
    const double h = before[0][static_cast<std::size_t>(j)];
    next[0].push_back((1 - update) * candidate + update * h);
  }
  return next;
}

OpCase gru_case(const Marks& marks, bool with_state) {
  constexpr std::int64_t kWidth = 3 * kUnits;
  OpCase c{.name = "gru" + marks.name() + (with_state ? " state" : ""),
           .inputs = {{{kBatch, kTime, kWidth}}, {{kUnits, kWidth}}, {{kUnits}}},
           .op = {},
           .reference = {}};
  if (with_state) c.inputs.push_back({{kBatch, kUnits}});
  c.op = [=](auto in) {
    return ops::gru(in[0], {in[1], in[2]}, with_state ? in[3] : Tensor(),
                    marks.options(in[0].device()));
  };
  c.reference = [=](auto in) {
    Array h{{kBatch, kTime, kUnits}, std::vector<double>(kBatch * kTime * kUnits)};
    const auto first = [&](std::int64_t b) {
      return with_state ? States{row_of(in[3], b)} : States(1, std::vector<double>(kUnits));
    };
    each_position(
        marks, first,
        [&](auto b, auto t, const States& before) {
          return step_of(in[0], in[1], in[2], b, t, before);
        },
        [&](auto b, auto t, const States& after) {
          std::ranges::copy(after[0], h.values.begin() + (b * kTime + t) * kUnits);
        });
    return h;
  };
  return c;
}

}  // namespace

TEST_CASE("gru computes all positions, and its gradient", "[ops]") {
  for (const Marks& marks : all_marks()) {
    check(gru_case(marks, false));
    check(gru_case(marks, true));
  }
}

TEST_CASE("gru leaves gates alone that someone else sees", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor gates = Tensor::full(*device, {2, 3, 6}, 0.5),
                 u = Tensor::full(*device, {2, 6}, 1);
    const Tensor c = Tensor::zeros(*device, {2});
    const std::vector<float> first = ops::gru(gates, {u, c}).to_host<float>();
    CHECK(gates.to_host<float>() == std::vector<float>(2 * 3 * 6, 0.5F));
    CHECK(ops::gru(gates, {u, c}).to_host<float>() == first);
  }
}

TEST_CASE("gru counts the products of the state and their gradients", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot of_u, of_h;
    const Tensor gates = Tensor::full(*device, {2, 3, 15}, 0.5);
    const Tensor u = make_leaf(Tensor::full(*device, {5, 15}, 0.1), of_u);
    const Tensor before = make_leaf(Tensor::full(*device, {2, 5}, 0.2), of_h);
    constexpr double kProducts = 2.0 * 2 * 3 * 5 * 15;
    const double start = device->flops();
    Tape tape;
    const Tape::Recording recording(tape);
    ops::gru(gates, {u, Tensor::zeros(*device, {5})}, before);
    CHECK(device->flops() - start == 3 * kProducts);
  }
}

TEST_CASE("gru reports shapes that do not fit", "[ops]") {
  const auto device = open_any();
  const auto zeros = [&](const Shape& shape) { return Tensor::zeros(*device, shape); };
  const Tensor gates = zeros({2, 3, 6}), u = zeros({2, 6}), c = zeros({2});
  const char* const kExpected =
      "[gru] expected gates [B, T, 3 n], T >= 1, u [n, 3 n], c [n] and a state [B, n]";
  CHECK_THROWS_WITH(ops::gru(gates, {zeros({3, 6}), c}), Contains(kExpected));
  CHECK_THROWS_WITH(ops::gru(gates, {u, zeros({3})}), Contains(kExpected));
  CHECK_THROWS_WITH(ops::gru(zeros({2, 0, 6}), {u, c}), Contains(kExpected));
  CHECK_THROWS_WITH(ops::gru(gates, {u, c}, zeros({3, 2})), Contains(kExpected));
  CHECK_THROWS_WITH(ops::gru(gates, {u, c}, {}, {.starts = zeros({3, 2})}),
                    Contains("[gru] expected starts [B, T]"));
  CHECK_THROWS_WITH(ops::gru_cell(zeros({2, 6}), zeros({2, 3}), {u, c}),
                    Contains("[gru_cell] expected gates [B, 3 n] and h [B, n]"));
}

}  // namespace trivet::test
