// SPDX-License-Identifier: Apache-2.0
// Products, the linear layer, normalization, rows of a table, dropout.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

// One of the 2 x 2 transpose flags; k = 5.
OpCase matmul_case(Shape a, Shape b, bool ta, bool tb, const Shape& out) {
  const auto flip = [](Shape& shape) {
    const std::int64_t rows = shape[-2];
    shape.set(-2, shape[-1]);
    shape.set(-1, rows);
  };
  if (ta) flip(a);
  if (tb) flip(b);
  return {.name = "matmul " + a.to_string() + " " + b.to_string(),
          .inputs = {{a}, {b}},
          .op =
              [=](auto in) {
                return ops::matmul(in[0], in[1], {.transpose_a = ta, .transpose_b = tb});
              },
          .reference =
              [=](auto in) {
                return filled(out, [&](Indices i) {
                  double sum = 0;
                  for (std::int64_t k = 0; k < 5; ++k) {
                    std::vector<std::int64_t> x(i.begin(), i.end() - 2), y = x;
                    const std::int64_t m = i[i.size() - 2], n = i[i.size() - 1];
                    x.insert(x.end(), {ta ? k : m, ta ? m : k});
                    y.insert(y.end(), {tb ? n : k, tb ? k : n});
                    const auto tail = [](const std::vector<std::int64_t>& index, int rank) {
                      return std::span(index).last(static_cast<std::size_t>(rank));
                    };
                    sum += in[0].at(tail(x, in[0].shape.rank())) *
                           in[1].at(tail(y, in[1].shape.rank()));
                  }
                  return sum;
                });
              }};
}

double act(Activation kind, double x) {
  switch (kind) {
    case Activation::relu:
      return std::max(0.0, x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

OpCase norm_case(bool layer, bool gamma, bool beta) {
  return {.name = std::string(layer ? "layer" : "rms") + " norm",
          .inputs = {{{2, 3, 8}, -2, 3}, {{8}, 0.5, 1.5}, {{8}}},
          .op =
              [=](auto in) {
                const Tensor g = gamma ? in[1] : Tensor(), b = beta ? in[2] : Tensor();
                return layer ? ops::layer_norm(in[0], g, b, 1e-3F) : ops::rms_norm(in[0], g, 1e-3F);
              },
          .reference =
              [=](auto in) {
                return filled({2, 3, 8}, [&](Indices i) {
                  double mean = 0, square = 0;
                  for (std::int64_t j = 0; j < 8 && layer; ++j) {
                    mean += in[0].at({i[0], i[1], j}) / 8;
                  }
                  for (std::int64_t j = 0; j < 8; ++j) {
                    square += std::pow(in[0].at({i[0], i[1], j}) - mean, 2) / 8;
                  }
                  const double unit = (in[0].at(i) - mean) / std::sqrt(square + 1e-3);
                  return unit * (gamma ? in[1].at({i[2]}) : 1) + (beta ? in[2].at({i[2]}) : 0);
                });
              }};
}

}  // namespace

TEST_CASE("matmul multiplies matrices and batches of them, with either side transposed", "[ops]") {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      check(matmul_case({3, 5}, {5, 4}, ta, tb, {3, 4}));
      check(matmul_case({2, 3, 5}, {2, 5, 4}, ta, tb, {2, 3, 4}));
      check(matmul_case({2, 2, 3, 5}, {5, 4}, ta, tb, {2, 2, 3, 4}));
      check(matmul_case({3, 5}, {2, 5, 4}, ta, tb, {2, 3, 4}));
    }
  }
  const auto device = open_any();
  CHECK_THROWS_WITH(ops::matmul(Tensor::zeros(*device, {2, 3}), Tensor::zeros(*device, {4, 2})),
                    Catch::Contains("[matmul]") && Catch::Contains("[2, 3], [4, 2]"));
  CHECK_THROWS_WITH(ops::matmul(Tensor::zeros(*device, {3}), Tensor::zeros(*device, {3, 2})),
                    Catch::Contains("[matmul]"));
}

TEST_CASE("a product of empty matrices is empty or zero", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const auto zeros = [&](const Shape& shape) { return Tensor::zeros(*device, shape); };
    CHECK(ops::matmul(zeros({0, 3}), zeros({3, 2})).shape() == Shape{0, 2});
    CHECK(ops::matmul(zeros({2, 0}), zeros({0, 2})).to_host<float>() ==
          std::vector<float>{0, 0, 0, 0});
  }
}

TEST_CASE("linear is act(x w + b), with gradients for x, w and b", "[ops]") {
  for (const Activation kind : {Activation::none, Activation::relu, Activation::tanh,
                                Activation::sigmoid, Activation::gelu, Activation::silu}) {
    for (const bool bias : {true, false}) {
      check(
          {.name = "linear, activation " + std::to_string(static_cast<int>(kind)),
           .inputs = {{{2, 3, 5}}, {{5, 4}}, {{4}, 3, 4}},  // far from the kink of relu
           .op = [=](auto in) { return ops::linear(in[0], in[1], bias ? in[2] : Tensor(), kind); },
           .reference =
               [=](auto in) {
                 return filled({2, 3, 4}, [&](Indices i) {
                   double z = bias ? in[2].at({i[2]}) : 0;
                   for (std::int64_t k = 0; k < 5; ++k) {
                     z += in[0].at({i[0], i[1], k}) * in[1].at({k, i[2]});
                   }
                   return act(kind, z);
                 });
               },
           .differentiable = bias || kind != Activation::relu});
    }
  }
}

TEST_CASE("linear adds its weight gradients to existing ones", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot w_slot{Tensor::full(*device, {1, 1}, 100)},
        b_slot{Tensor::full(*device, {1}, 100)};
    const Tensor w = make_leaf(Tensor::full(*device, {1, 1}, 2), w_slot);
    const Tensor b = make_leaf(Tensor::full(*device, {1}, 1), b_slot);
    Tape tape;
    Tensor loss;
    {
      Tape::Recording recording(tape);
      const Tensor x = Tensor::full(*device, {3, 1}, 5);
      loss = ops::sum(ops::add(ops::linear(x, w, b), ops::linear(x, w, b)));
    }
    tape.backward(loss);
    // The first use overwrites the 100 from before the step; the second adds: 2 * 3 rows * 5.
    CHECK(w_slot.gradient.item() == 30);
    CHECK(b_slot.gradient.item() == 6);
  }
}

TEST_CASE("layer norm and RMS norm follow their formulas", "[ops]") {
  check(norm_case(true, true, true));
  OpCase plain = norm_case(true, false, false);
  plain.differentiable = false;
  check(plain);
  OpCase rms = norm_case(false, true, false);
  check({.name = "rms norm",
         .inputs = {rms.inputs[0], rms.inputs[1]},
         .op = [](auto in) { return ops::rms_norm(in[0], in[1], 1e-3F); },
         .reference = rms.reference});
  check({.name = "rms norm without gamma",
         .inputs = {rms.inputs[0]},
         .op = [](auto in) { return ops::rms_norm(in[0], {}, 1e-3F); },
         .reference = norm_case(false, false, false).reference});
}

TEST_CASE("gather_rows looks rows up, and equal indices add up in the gradient", "[ops]") {
  check({.name = "gather_rows",
         .inputs = {{{4, 3}}, {{2, 5}, 0, 4, DType::i32}},
         .op = [](auto in) { return ops::gather_rows(in[0], in[1]); },
         .reference =
             [](auto in) {
               return filled({2, 5, 3}, [&](Indices i) {
                 return in[0].at({static_cast<std::int64_t>(in[1].at({i[0], i[1]})), i[2]});
               });
             }});
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const std::vector<std::int32_t> outside{4};
    CHECK_THROWS_WITH(ops::gather_rows(Tensor::zeros(*device, {4, 3}),
                                       Tensor::from<std::int32_t>(*device, outside, {1})),
                      Catch::Contains("gather_rows"));
  }
}

TEST_CASE("dropout's choice depends on the key, equally on every backend", "[ops]") {
  const RngKey key(42);
  std::vector<std::uint32_t> bits(1000);
  random_bits(key, 0, bits);
  const auto threshold = static_cast<std::uint32_t>(0.25 * 4294967296.0);
  check({.name = "dropout",
         .inputs = {{{10, 100}, 0.5, 1.5}},
         .op = [key](auto in) { return ops::dropout(in[0], 0.25F, key); },
         .reference =
             [&](auto in) {
               Array y = in[0];
               for (std::size_t i = 0; i < 1000; ++i) y[i] = bits[i] >= threshold ? y[i] / 0.75 : 0;
               return y;
             },
         .differentiable = false});
  check({.name = "gradient of dropout",
         .inputs = {{{4, 5}}},
         .op = [key](auto in) { return ops::dropout(in[0], 0.25F, key); },
         .reference =
             [&](auto in) {
               Array y = in[0];
               for (std::size_t i = 0; i < 20; ++i) y[i] = bits[i] >= threshold ? y[i] / 0.75 : 0;
               return y;
             }});
  const auto device = open_any();
  const Tensor x = Tensor::full(*device, {3}, 1);
  CHECK(ops::dropout(x, 0, key).same_as(x));
  CHECK_THROWS_WITH(ops::dropout(x, 1, key), Catch::Contains("[dropout]"));
}

}  // namespace trivet::test
