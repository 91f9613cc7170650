// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: values against double, gradients against differences, broadcasting, messages.
#include <algorithm>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

OpCase unary_case(const std::string& name, Tensor (*op)(const Tensor&), double (*f)(double),
                  double low = -2, double high = 2) {
  return {
      .name = name,
      .inputs = {{{3, 7}, low, high}},
      .op = [op](auto in) { return op(in[0]); },
      .reference =
          [f](auto in) { return filled(in[0].shape, [&](Indices i) { return f(in[0].at(i)); }); }};
}

OpCase binary_case(const std::string& name, Tensor (*op)(const Tensor&, const Tensor&),
                   double (*f)(double, double), const Shape& a, const Shape& b, const Shape& out,
                   double low = -2, double high = 2) {
  return {.name = name + " " + a.to_string() + " " + b.to_string(),
          .inputs = {{a, low, high}, {b, low, high}},
          .op = [op](auto in) { return op(in[0], in[1]); },
          .reference =
              [f, out](auto in) {
                return filled(out, [&](Indices i) { return f(in[0].at(i), in[1].at(i)); });
              }};
}

double normal_distribution(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double silu(double x) {
  return x / (1 + std::exp(-x));
}

}  // namespace

TEST_CASE("unary ops agree with double and their gradients with differences", "[ops]") {
  check(unary_case("neg", ops::neg, [](double x) { return -x; }));
  check(unary_case(
      "abs", ops::abs, [](double x) { return std::abs(x); }, 0.1, 2));
  check(unary_case(
      "abs below zero", ops::abs, [](double x) { return std::abs(x); }, -2, -0.1));
  check(unary_case("exp", ops::exp, [](double x) { return std::exp(x); }));
  check(unary_case(
      "log", ops::log, [](double x) { return std::log(x); }, 0.3, 4));
  check(unary_case(
      "sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0.3, 4));
  check(unary_case(
      "rsqrt", ops::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.3, 4));
  check(unary_case("tanh", ops::tanh, [](double x) { return std::tanh(x); }));
  check(unary_case("sigmoid", ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }));
  check(unary_case("sin", ops::sin, [](double x) { return std::sin(x); }));
  check(unary_case("cos", ops::cos, [](double x) { return std::cos(x); }));
  check(unary_case("square", ops::square, [](double x) { return x * x; }));
  OpCase floor = unary_case("floor", ops::floor, [](double x) { return std::floor(x); });
  floor.differentiable = false;
  check(floor);
}

TEST_CASE("binary ops broadcast as NumPy does, forward and backward", "[ops]") {
  struct Shapes {
    Shape a, b, out;
  };
  const Shapes all[] = {
      {{2, 3}, {2, 3}, {2, 3}},       {{2, 3}, {3}, {2, 3}},
      {{3}, {2, 3}, {2, 3}},          {{2, 3}, {}, {2, 3}},
      {{2, 1, 4}, {3, 1}, {2, 3, 4}}, {{2, 1, 2, 1}, {1, 3, 1, 2}, {2, 3, 2, 2}},
  };
  for (const auto& [a, b, out] : all) {
    check(binary_case(
        "add", ops::add, [](double x, double y) { return x + y; }, a, b, out));
    check(binary_case(
        "sub", ops::sub, [](double x, double y) { return x - y; }, a, b, out));
    check(binary_case(
        "mul", ops::mul, [](double x, double y) { return x * y; }, a, b, out));
    check(binary_case(
        "div", ops::div, [](double x, double y) { return x / y; }, a, b, out, 0.5, 2));
    check(binary_case(
        "pow", ops::pow, [](double x, double y) { return std::pow(x, y); }, a, b, out, 0.5, 2));
  }
}

TEST_CASE("binary ops on empty tensors return empty tensors", "[ops]") {
  OpCase empty =
      binary_case("add", ops::add, [](double x, double y) { return x + y; }, {0, 3}, {3}, {0, 3});
  check(empty);
}

TEST_CASE("max and min pass the gradient to the winner, and to a on a tie", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const std::vector<float> a{1, 5, 3}, b{2, 4, 3};
    for (const bool greatest : {true, false}) {
      GradientSlot slots[2];
      Tape tape;
      Tensor y;
      {
        Tape::Recording recording(tape);
        const Tensor x = make_leaf(Tensor::from<float>(*device, a, {3}), slots[0]);
        const Tensor z = make_leaf(Tensor::from<float>(*device, b, {3}), slots[1]);
        y = greatest ? ops::max(x, z) : ops::min(x, z);
      }
      tape.backward(y, Tensor::full(*device, {3}, 1));
      const std::vector<float> first = slots[0].gradient.to_host<float>();
      const std::vector<float> second = slots[1].gradient.to_host<float>();
      CHECK(y.to_host<float>() ==
            (greatest ? std::vector<float>{2, 5, 3} : std::vector<float>{1, 4, 3}));
      CHECK(first == (greatest ? std::vector<float>{0, 1, 1} : std::vector<float>{1, 0, 1}));
      CHECK(second == (greatest ? std::vector<float>{1, 0, 0} : std::vector<float>{0, 1, 0}));
    }
  }
}

TEST_CASE("comparisons return bool, for integers too", "[ops]") {
  for (const DType dtype : {DType::f32, DType::i32, DType::u8}) {
    check({.name = "equal",
           .inputs = {{{4, 5}, 0, 3, dtype}, {{5}, 0, 3, dtype}},
           .op = [](auto in) { return ops::equal(in[0], in[1]); },
           .reference =
               [](auto in) {
                 return filled({4, 5}, [&](Indices i) { return in[0].at(i) == in[1].at(i); });
               },
           .differentiable = false});
  }
  check({.name = "less",
         .inputs = {{{4, 1}}, {{5}}},
         .op = [](auto in) { return ops::less(in[0], in[1]); },
         .reference =
             [](auto in) {
               return filled({4, 5}, [&](Indices i) { return in[0].at(i) < in[1].at(i); });
             },
         .differentiable = false});
}

TEST_CASE("where takes from a or b, and so do its gradients", "[ops]") {
  check({.name = "where",
         .inputs = {{{3, 4}}, {{4}}, {{3, 4}, 0, 2, DType::i32}},
         .op =
             [](auto in) {
               const Tensor zero = Tensor::zeros(in[2].device(), {}, DType::i32);
               return ops::where(ops::equal(in[2], zero), in[0], in[1]);
             },
         .reference =
             [](auto in) {
               return filled(
                   {3, 4}, [&](Indices i) { return in[2].at(i) == 0 ? in[0].at(i) : in[1].at(i); });
             }});
}

TEST_CASE("activations agree with their formulas", "[ops]") {
  struct Known {
    Activation kind;
    double (*f)(double);
  };
  const Known plain[] = {
      {Activation::relu, [](double x) { return std::max(x, 0.0); }},
      {Activation::tanh, [](double x) { return std::tanh(x); }},
      {Activation::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Activation::gelu, [](double x) { return x * normal_distribution(x); }},
      {Activation::gelu_tanh, gelu_tanh},
      {Activation::silu, silu},
  };
  for (const auto& [kind, f] : plain) {
    check({.name = "activation " + std::to_string(static_cast<int>(kind)),
           .inputs = {{{4, 6}, 0.1, 3}},  // away from the kink of relu
           .op = [kind = kind](auto in) { return ops::activation(in[0], kind); },
           .reference =
               [f = f](auto in) {
                 return filled(in[0].shape, [&](Indices i) { return f(in[0].at(i)); });
               }});
    check({.name = "activation below zero " + std::to_string(static_cast<int>(kind)),
           .inputs = {{{4, 6}, -3, -0.1}},
           .op = [kind = kind](auto in) { return ops::activation(in[0], kind); },
           .reference =
               [f = f](auto in) {
                 return filled(in[0].shape, [&](Indices i) { return f(in[0].at(i)); });
               }});
  }
}

TEST_CASE("gated activations multiply act(first half) with the second half", "[ops]") {
  struct Known {
    Activation kind;
    double (*f)(double);
  };
  const Known gated[] = {
      {Activation::geglu, [](double x) { return x * normal_distribution(x); }},
      {Activation::geglu_tanh, gelu_tanh},
      {Activation::swiglu, silu},
  };
  for (const auto& [kind, f] : gated) {
    check({.name = "gated " + std::to_string(static_cast<int>(kind)),
           .inputs = {{{3, 10}, -2, 2}},
           .op = [kind = kind](auto in) { return ops::activation(in[0], kind); },
           .reference =
               [f = f](auto in) {
                 return filled({3, 5}, [&](Indices i) {
                   return f(in[0].at({i[0], i[1]})) * in[0].at({i[0], i[1] + 5});
                 });
               }});
  }
}

TEST_CASE("cast between floating types rounds to the nearest, and its gradient passes", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    // 1 + 2^-8 lies between two bf16 numbers: ties go to the even one, 1. 1/3 in f16 is 0x3555.
    const std::vector<float> values{1.00390625F, 1.01171875F, -2.5F, 1.0F / 3};
    const Tensor x = Tensor::from<float>(*device, values, {4});
    CHECK(ops::cast(x, DType::bf16).to_host<float>()[0] == 1.0F);
    CHECK(ops::cast(x, DType::bf16).to_host<float>()[1] == 1.015625F);
    CHECK(ops::cast(x, DType::f16).to_host<float>()[3] == 0.333251953125F);
    CHECK(ops::cast(x, DType::i32).to_host<std::int32_t>() ==
          std::vector<std::int32_t>{1, 1, -2, 0});
  }
}

TEST_CASE("ops on mismatched operands report the expected and the given shapes", "[ops]") {
  const auto device = open_any();
  const auto other = open_any();
  const Tensor a = Tensor::zeros(*device, {2, 3}), b = Tensor::zeros(*device, {4});
  CHECK_THROWS_WITH(ops::add(a, b), Catch::Contains("[add]") && Catch::Contains("[2, 3]") &&
                                        Catch::Contains("[4]"));
  CHECK_THROWS_WITH(ops::exp(Tensor::zeros(*device, {2}, DType::i32)),
                    Catch::Contains("[exp]") && Catch::Contains("expected f32"));
  CHECK_THROWS_WITH(ops::add(a, Tensor::zeros(*other, {2, 3})), Catch::Contains("one device"));
  CHECK_THROWS_WITH(ops::add(a, Tensor::host({2, 3})), Catch::Contains("one device"));
  CHECK_THROWS_WITH(ops::activation(Tensor::zeros(*device, {3}), Activation::swiglu),
                    Catch::Contains("even"));
}

}  // namespace trivet::test
