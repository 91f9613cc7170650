// SPDX-License-Identifier: Apache-2.0
// log_softmax, cumsum, prod, top_k and pad.
#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

// The op along the axis of an array [2, 5, 3], by a function of the elements along it.
OpCase along(const std::string& name, std::function<Tensor(const Tensor&, int)> op, int axis,
             std::function<double(const std::vector<double>&, std::int64_t)> f) {
  return {.name = name + " along " + std::to_string(axis),
          .inputs = {{{2, 5, 3}, 0.5, 1.5}},
          .op = [=](auto in) { return op(in[0], axis); },
          .reference =
              [=](auto in) {
                return filled(in[0].shape, [&](Indices i) {
                  std::vector<double> line;
                  std::vector<std::int64_t> at(i.begin(), i.end());
                  const auto a = static_cast<std::size_t>(axis);
                  for (at[a] = 0; at[a] < in[0].dim(axis); ++at[a]) line.push_back(in[0].at(at));
                  return f(line, i[a]);
                });
              }};
}

Tensor values_of(Device& device, const std::vector<float>& values, const Shape& shape) {
  return Tensor::from<float>(device, values, shape);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("cumsum adds up along every axis", "[ops]") {
  for (const int axis : {0, 1, 2}) {
    check(along("cumsum", ops::cumsum, axis, [](const auto& line, std::int64_t i) {
      double sum = 0;
      for (std::int64_t k = 0; k <= i; ++k) sum += line[static_cast<std::size_t>(k)];
      return sum;
    }));
  }
}

TEST_CASE("prod multiplies along every axis", "[ops]") {
  for (const int axis : {0, 1, 2}) {
    const auto expanded = [](const Tensor& x, int at) {
      return ops::expand(ops::prod(x, at, {.keep_dims = true}), x.shape());
    };
    check(along("prod", expanded, axis, [](const auto& line, std::int64_t) {
      double product = 1;
      for (const double x : line) product *= x;
      return product;
    }));
  }
}

TEST_CASE("the gradient of a product with zeros is the product of the others", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot slot;
    const Tensor x = make_leaf(values_of(*device, {2, 0, 3, 0, 0, 5}, {2, 3}), slot);
    Tape tape;
    Tensor y;
    {
      Tape::Recording recording(tape);
      y = ops::prod(x, 1);
    }
    CHECK(y.shape() == Shape{2});
    tape.backward(y, Tensor::full(*device, {2}, 1));
    CHECK(slot.gradient.to_host<float>() == std::vector<float>{0, 6, 0, 0, 0, 0});
    CHECK(ops::prod(Tensor::zeros(*device, {2, 0}), 1).to_host<float>() ==
          std::vector<float>{1, 1});
    CHECK(ops::prod(Tensor::full(*device, {2, 1}, 4), 1).to_host<float>() ==
          std::vector<float>{4, 4});
  }
}

TEST_CASE("log_softmax is the logarithm of the softmax", "[ops]") {
  check({.name = "log_softmax",
         .inputs = {{{4, 6}, -5, 5}},
         .op = [](auto in) { return ops::log_softmax(in[0]); },
         .reference =
             [](auto in) {
               return filled(in[0].shape, [&](Indices i) {
                 double sum = 0;
                 for (std::int64_t c = 0; c < 6; ++c) sum += std::exp(in[0].at({i[0], c}));
                 return in[0].at(i) - std::log(sum);
               });
             }});
}

TEST_CASE("log_softmax keeps its digits where logits are large or probabilities vanish", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const auto y = ops::log_softmax(values_of(*device, {1e6F, 1e6F + 3, -200}, {1, 3}));
    const std::vector<float> got = y.to_host<float>();
    CHECK(got[0] == Approx(-3.048587351573742).epsilon(1e-6));
    CHECK(got[1] == Approx(-0.048587351573742).epsilon(2e-6));
    CHECK(got[2] == Approx(-1000203.0485873).epsilon(1e-6));
  }
}

TEST_CASE("top_k returns the largest, ties in order, and passes its gradient to them", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot slot;
    const Tensor x = make_leaf(
        values_of(*device, {3, 1, 3, 2, -kInfinity, -kInfinity, 5, -kInfinity}, {2, 4}), slot);
    Tape tape;
    TopK top;
    {
      Tape::Recording recording(tape);
      top = ops::top_k(x, 3);
    }
    CHECK(top.values.to_host<float>() == std::vector<float>{3, 3, 2, 5, -kInfinity, -kInfinity});
    CHECK(top.indices.to_host<std::int32_t>() == std::vector<std::int32_t>{0, 2, 3, 2, 0, 1});
    tape.backward(top.values, values_of(*device, {1, 2, 3, 4, 5, 6}, {2, 3}));
    CHECK(slot.gradient.to_host<float>() == std::vector<float>{1, 0, 2, 3, 5, 6, 4, 0});
    CHECK(ops::top_k(x, 0).values.size() == 0);
    CHECK_THROWS_WITH(ops::top_k(x, 5), Catch::Contains("[top_k]") && Catch::Contains("5 of"));
    const auto nan_first = ops::top_k(values_of(*device, {1, std::nanf(""), 7}, {3}), 2).indices;
    CHECK(nan_first.to_host<std::int32_t>() == std::vector<std::int32_t>{1, 2});
  }
}

TEST_CASE("pad continues an axis by a value, its edge or its reflection", "[ops]") {
  struct Mode {
    PadMode mode;
    const char* name;
    std::vector<std::int64_t> from;  // of a b c d, with -1 for the value
  };
  const Mode modes[] = {{PadMode::constant, "constant", {-1, -1, 0, 1, 2, 3, -1, -1, -1}},
                        {PadMode::edge, "edge", {0, 0, 0, 1, 2, 3, 3, 3, 3}},
                        {PadMode::reflect, "reflect", {2, 1, 0, 1, 2, 3, 2, 1, 0}}};
  for (const Mode& m : modes) {
    check({.name = std::string("pad by ") + m.name,
           .inputs = {{{2, 4, 3}}},
           .op = [&](auto in) { return ops::pad(in[0], 1, 2, 3, m.mode, 0.5F); },
           .reference =
               [&](auto in) {
                 return filled({2, 9, 3}, [&](Indices i) {
                   const std::int64_t from = m.from[static_cast<std::size_t>(i[1])];
                   return from < 0 ? 0.5 : in[0].at({i[0], from, i[2]});
                 });
               }});
  }
}

TEST_CASE("padding that cannot be is an error", "[ops]") {
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {2, 4}), none = Tensor::zeros(*device, {2, 0});
  CHECK_THROWS_WITH(ops::pad(x, 1, 4, 0, PadMode::reflect), Catch::Contains("[pad]"));
  CHECK_THROWS_WITH(ops::pad(x, 1, -1, 0), Catch::Contains("-1 and 0"));
  CHECK_THROWS_WITH(ops::pad(none, 1, 1, 0, PadMode::edge), Catch::Contains("[pad]"));
  CHECK(ops::pad(none, 1, 1, 2).shape() == Shape{2, 3});
}

}  // namespace trivet::test
