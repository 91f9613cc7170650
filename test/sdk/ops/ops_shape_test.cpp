// SPDX-License-Identifier: Apache-2.0
// Ops that change shapes, and reductions.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

double sum_along(const Array& x, Indices rest, int axis, int rank,
                 const std::function<double(double, double)>& add, double start) {
  double total = start;
  for (std::int64_t j = 0; j < x.shape[axis]; ++j) {
    std::vector<std::int64_t> index(rest.begin(), rest.end());
    index.insert(index.begin() + axis, j);
    REQUIRE(static_cast<int>(index.size()) == rank);
    total = add(total, x.at(index));
  }
  return total;
}

Shape without(const Shape& shape, int axis) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.erase(extents.begin() + axis);
  return Shape(extents);
}

}  // namespace

TEST_CASE("reshape keeps the row-major order and resolves one open extent", "[ops]") {
  check({.name = "reshape",
         .inputs = {{{2, 3, 4}}},
         .op =
             [](auto in) {
               return ops::reshape(in[0], {4, -1});
             },
         .reference =
             [](auto in) {
               return Array{{4, 6}, in[0].values};
             }});
  check({.name = "reshape of a transposed tensor",
         .inputs = {{{2, 3}}},
         .op =
             [](auto in) {
               return ops::reshape(ops::transpose(in[0], {1, 0}), {6});
             },
         .reference =
             [](auto in) {
               return filled({6}, [&](Indices i) { return in[0].at({i[0] % 2, i[0] / 2}); });
             }});
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {2, 3});
  CHECK_THROWS_WITH(ops::reshape(x, {4, -1}), Catch::Contains("[reshape]"));
  CHECK_THROWS_WITH(ops::reshape(x, {-1, -1}), Catch::Contains("one extent of -1"));
}

TEST_CASE("transpose, slice and expand are views with the right elements and gradients", "[ops]") {
  check({.name = "transpose",
         .inputs = {{{2, 3, 4}}},
         .op =
             [](auto in) {
               return ops::transpose(in[0], {2, 0, -2});
             },
         .reference =
             [](auto in) {
               return filled({4, 2, 3}, [&](Indices i) { return in[0].at({i[1], i[2], i[0]}); });
             }});
  check(
      {.name = "slice",
       .inputs = {{{3, 5, 2}}},
       .op = [](auto in) { return ops::slice(in[0], 1, 1, 4); },
       .reference =
           [](auto in) {
             return filled({3, 3, 2}, [&](Indices i) { return in[0].at({i[0], i[1] + 1, i[2]}); });
           }});
  check({.name = "empty slice",
         .inputs = {{{3, 5}}},
         .op = [](auto in) { return ops::slice(in[0], -1, 2, 2); },
         .reference =
             [](auto) {
               return Array{{3, 0}, {}};
             },
         .differentiable = false});
  check({.name = "expand",
         .inputs = {{{3, 1, 2}}},
         .op =
             [](auto in) {
               return ops::expand(in[0], {2, 3, 4, 2});
             },
         .reference =
             [](auto in) {
               return filled({2, 3, 4, 2}, [&](Indices i) { return in[0].at({i[1], 0, i[3]}); });
             }});
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {2, 3});
  CHECK(ops::transpose(x, {1, 0}).view().data == x.view().data);
  CHECK_THROWS_WITH(ops::transpose(x, {0, 0}), Catch::Contains("once"));
  CHECK_THROWS_WITH(ops::slice(x, 1, 2, 5), Catch::Contains("[slice]"));
}

TEST_CASE("split and concat undo each other", "[ops]") {
  check({.name = "concat",
         .inputs = {{{2, 3}}, {{2, 1}}, {{2, 2}}},
         .op = [](auto in) { return ops::concat(in, 1); },
         .reference =
             [](auto in) {
               return filled({2, 6}, [&](Indices i) {
                 if (i[1] < 3) return in[0].at({i[0], i[1]});
                 return i[1] < 4 ? in[1].at({i[0], 0}) : in[2].at({i[0], i[1] - 4});
               });
             }});
  check({.name = "split",
         .inputs = {{{4, 3}}},
         .op =
             [](auto in) {
               const std::vector<Tensor> parts = ops::split(in[0], 0, 2);
               return ops::sub(parts[0], ops::mul(parts[1], 2));
             },
         .reference =
             [](auto in) {
               return filled({2, 3}, [&](Indices i) {
                 return in[0].at({i[0], i[1]}) - 2 * in[0].at({i[0] + 2, i[1]});
               });
             }});
}

TEST_CASE("sum, mean and max reduce any axis", "[ops]") {
  const Shape shape{2, 3, 4};
  for (int axis = 0; axis < 3; ++axis) {
    const auto plus = [](double a, double b) { return a + b; };
    const auto greater = [](double a, double b) { return std::max(a, b); };
    check({.name = "sum",
           .inputs = {{shape}},
           .op = [axis](auto in) { return ops::sum(in[0], axis); },
           .reference =
               [=](auto in) {
                 return filled(without(shape, axis),
                               [&](Indices i) { return sum_along(in[0], i, axis, 3, plus, 0); });
               }});
    check({.name = "mean",
           .inputs = {{shape}},
           .op = [axis](auto in) { return ops::mean(in[0], axis - 3); },
           .reference =
               [=](auto in) {
                 return filled(without(shape, axis), [&](Indices i) {
                   return sum_along(in[0], i, axis, 3, plus, 0) / static_cast<double>(shape[axis]);
                 });
               }});
    check({.name = "max",
           .inputs = {{shape, -5, 5}},
           .op = [axis](auto in) { return ops::max(in[0], axis); },
           .reference =
               [=](auto in) {
                 return filled(without(shape, axis), [&](Indices i) {
                   return sum_along(in[0], i, axis, 3, greater, -1e30);
                 });
               }});
  }
}

TEST_CASE("full reductions return a scalar; the mean of nothing is 0", "[ops]") {
  const auto total = [](auto in) {
    double sum = 0;
    for (const double value : in[0].values) sum += value;
    return sum;
  };
  check({.name = "sum of all",
         .inputs = {{{3, 5}}},
         .op = [](auto in) { return ops::sum(in[0]); },
         .reference =
             [=](auto in) {
               return Array{{}, {total(in)}};
             }});
  check({.name = "mean of all",
         .inputs = {{{3, 5}}},
         .op = [](auto in) { return ops::mean(in[0]); },
         .reference =
             [=](auto in) {
               return Array{{}, {total(in) / 15}};
             }});
  check({.name = "mean of nothing",
         .inputs = {{{0, 5}}},
         .op = [](auto in) { return ops::mean(in[0]); },
         .reference =
             [](auto) {
               return Array{{}, {0}};
             },
         .differentiable = false});
  check({.name = "keep_dims",
         .inputs = {{{2, 3}}},
         .op = [](auto in) { return ops::mul(in[0], ops::sum(in[0], -1, {.keep_dims = true})); },
         .reference =
             [](auto in) {
               return filled({2, 3}, [&](Indices i) {
                 double sum = 0;
                 for (std::int64_t j = 0; j < 3; ++j) sum += in[0].at({i[0], j});
                 return in[0].at(i) * sum;
               });
             }});
}

TEST_CASE("max and argmax take the first of ties, and the gradient goes there", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const std::vector<float> values{1, 7, 7, 2, 3, 3, 3, 0};
    GradientSlot slot;
    Tape tape;
    Tensor y;
    const Tensor x = make_leaf(Tensor::from<float>(*device, values, {2, 4}), slot);
    {
      Tape::Recording recording(tape);
      y = ops::max(x, 1);
    }
    tape.backward(y, Tensor::full(*device, {2}, 1));
    CHECK(y.to_host<float>() == std::vector<float>{7, 3});
    CHECK(ops::argmax(x, 1).to_host<std::int32_t>() == std::vector<std::int32_t>{1, 0});
    CHECK(slot.gradient.to_host<float>() == std::vector<float>{0, 1, 0, 0, 1, 0, 0, 0});
  }
}

TEST_CASE("softmax is a distribution, for large logits too", "[ops]") {
  check({.name = "softmax",
         .inputs = {{{3, 5}, -3, 3}},
         .op = [](auto in) { return ops::softmax(in[0]); },
         .reference =
             [](auto in) {
               return filled({3, 5}, [&](Indices i) {
                 double sum = 0;
                 for (std::int64_t j = 0; j < 5; ++j) sum += std::exp(in[0].at({i[0], j}));
                 return std::exp(in[0].at(i)) / sum;
               });
             }});
  for (const NamedBackend& backend : named_backends()) {
    const auto device = open(backend);
    const std::vector<float> values{1e4F, 0, -1e4F};
    const Tensor y = ops::softmax(Tensor::from<float>(*device, values, {1, 3}));
    CHECK(y.to_host<float>() == std::vector<float>{1, 0, 0});
  }
}

TEST_CASE("a weighted mean ignores rows of weight 0, and is 0 when all are", "[ops]") {
  const auto weighted = [](auto in) {
    return ops::weighted_mean(in[0], ops::stop_gradient(in[1]));
  };
  OpCase mean{.name = "weighted mean",
              .inputs = {{{6}}, {{6}, 0.5, 2}},
              .op = weighted,
              .reference =
                  [](auto in) {
                    double sum = 0, weight = 0;
                    for (std::size_t i = 0; i < 6; ++i) {
                      sum += in[0][i] * in[1][i];
                      weight += in[1][i];
                    }
                    return Array{{}, {sum / weight}};
                  },
              .differentiable = false};
  check(mean);
  const auto device = open_any();
  const std::vector<float> values{1, 2, 3}, weights{1, 0, 1};
  const Tensor v = Tensor::from<float>(*device, values, {3});
  CHECK(ops::weighted_mean(v, Tensor::from<float>(*device, weights, {3})).item() == 2);
  CHECK(ops::weighted_mean(v, Tensor::zeros(*device, {3})).item() == 0);
  CHECK(ops::weighted_mean(v, {}).item() == 2);
}

}  // namespace trivet::test
