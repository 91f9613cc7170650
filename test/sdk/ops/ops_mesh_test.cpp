// SPDX-License-Identifier: Apache-2.0
// Ops over blocks: values and gradients on every backend, and the order of their sums.
#include "trivet/ops/ops_mesh.h"

#include <array>
#include <cmath>
#include <optional>

#include <catch2/catch.hpp>

#include "sdk/ops/op_case.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace ops_mesh_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Floats = std::vector<float>;
using Indices = std::span<const std::int64_t>;

// Values of all sizes, so that each order of a sum has other bits.
float value_of(std::int64_t block, std::int64_t i) {
  const auto wave = static_cast<float>(std::sin(static_cast<double>(i * 31 + block * 7 + 1)));
  return std::ldexp(wave, static_cast<int>((i + 3 * block) % 20));
}

Floats values_of(std::int64_t block, std::int64_t count) {
  Floats values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(value_of(block, i));
  return values;
}

// What TreeFold makes of the values of all blocks.
Floats tree_sum(const MeshAxis& axis, std::int64_t count) {
  Floats sums;
  for (std::int64_t i = 0; i < count; ++i) {
    TreeFold<float> fold(axis.tree());
    std::optional<float> total;
    for (std::int64_t block = 0; block < axis.extent(); ++block) {
      total = fold.add(value_of(block, i), [](float& sum, float part) { sum += part; });
    }
    sums.push_back(total.value());
  }
  return sums;
}

MeshAxis axis_of(std::int64_t slices, std::int64_t within) {
  return MeshAxis(SumTree(std::array{slices, within}));
}

Array doubled(const Array& x, double factor) {
  return filled(x.shape, [&](Indices at) { return factor * x.at(at); });
}

}  // namespace

TEST_CASE("blocks are fanned out, summed, gathered and split as the whole is", "[ops]") {
  for (const std::int64_t blocks : {1, 2, 3, 4, 6}) {
    const MeshAxis axis(blocks);
    const std::string name = " of " + std::to_string(blocks);
    check({.name = "fan_out and sum_blocks" + name,
           .inputs = {{{2, 3}}},
           .op =
               [=](auto in) {
                 std::vector<Tensor> out = ops::fan_out(in[0], axis);
                 for (std::size_t i = 0; i < out.size(); ++i) {
                   out[i] = ops::mul(out[i], static_cast<float>(i + 1));
                 }
                 return ops::sum_blocks(out, axis);
               },
           .reference =
               [=](auto in) {
                 return doubled(in[0], static_cast<double>(blocks * (blocks + 1)) / 2);
               }});
    check({.name = "split_blocks and gather_blocks" + name,
           .inputs = {{{2, 2 * blocks, 3}}, {{2, 2, 3}}},
           .op =
               [=](auto in) {
                 std::vector<Tensor> parts = ops::split_blocks(in[0], 1, axis);
                 for (Tensor& part : parts) part = ops::mul(part, in[1]);
                 return ops::gather_blocks(parts, -2, axis);
               },
           .reference =
               [](auto in) {
                 return filled(in[0].shape, [&](Indices at) {
                   return in[0].at(at) * in[1].at({at[0], at[1] % 2, at[2]});
                 });
               }});
  }
}

TEST_CASE("two products in blocks are those of the whole, with their gradients", "[ops]") {
  for (const std::int64_t blocks : {1, 2, 3, 4}) {
    const MeshAxis axis(blocks);
    const std::int64_t hidden = 12;
    check({.name = "products in blocks of " + std::to_string(blocks),
           .inputs = {{{3, 4}}, {{4, hidden}}, {{hidden}}, {{hidden, 2}}},
           .op =
               [=](auto in) {
                 const std::vector<Tensor> w = ops::split_blocks(in[1], 1, axis);
                 const std::vector<Tensor> b = ops::split_blocks(in[2], 0, axis);
                 const std::vector<Tensor> out = ops::split_blocks(in[3], 0, axis);
                 std::vector<Tensor> y = ops::fan_out(in[0], axis);
                 for (std::size_t i = 0; i < y.size(); ++i) {
                   y[i] = ops::linear(ops::linear(y[i], w[i], b[i], Activation::tanh), out[i]);
                 }
                 return ops::sum_blocks(y, axis);
               },
           .reference =
               [=](auto in) {
                 return filled({3, 2}, [&](Indices at) {
                   double y = 0;
                   for (std::int64_t h = 0; h < hidden; ++h) {
                     double sum = in[2].at({h});
                     for (std::int64_t i = 0; i < 4; ++i) {
                       sum += in[0].at({at[0], i}) * in[1].at({i, h});
                     }
                     y += std::tanh(sum) * in[3].at({h, at[1]});
                   }
                   return y;
                 });
               }});
  }
}

TEST_CASE("sums of blocks and of their gradients have the order of the mesh") {
  constexpr std::int64_t kCount = 40;
  for (const MeshAxis& axis : {MeshAxis(2), MeshAxis(3), MeshAxis(4), MeshAxis(6), MeshAxis(12),
                               axis_of(3, 4), axis_of(4, 5)}) {
    const auto device = open_device("tiny/Backend");
    const auto tensor = [&](const Floats& values) {
      return Tensor::from<float>(*device, values, {std::ssize(values)});
    };
    std::vector<Tensor> blocks;
    for (std::int64_t i = 0; i < axis.extent(); ++i) blocks.push_back(tensor(values_of(i, kCount)));
    const Floats want = tree_sum(axis, kCount);
    CHECK(ops::sum_blocks(blocks, axis).to_host<float>() == want);

    // The gradient of block i is blocks[i]. Another use of x is added to the whole sum.
    for (const float other : {0.0F, 3.0F}) {
      GradientSlot slot;
      const Tensor leaf = make_leaf(tensor(Floats(kCount, 0)), slot);
      Tape tape;
      Tensor loss;
      {
        const Tape::Recording recording(tape);
        const Tensor x = ops::mul(leaf, 1);
        std::vector<Tensor> terms = ops::fan_out(x, axis);
        for (std::size_t i = 0; i < terms.size(); ++i) {
          terms[i] = ops::sum(ops::mul(terms[i], blocks[i]));
        }
        loss = ops::sum_blocks(terms, axis);
        if (other != 0) loss = ops::add(loss, ops::mul(ops::sum(x), other));
      }
      tape.backward(loss);
      Floats sums = want;
      for (float& sum : sums) sum = other + sum;
      CHECK(slot.gradient.to_host<float>() == sums);
    }
  }
}

TEST_CASE("a block that the loss does not depend on adds nothing") {
  const auto device = open_device("tiny/Backend");
  const MeshAxis axis(4);
  for (std::size_t used = 0; used < 4; ++used) {
    GradientSlot slot;
    const Tensor x = make_leaf(Tensor::full(*device, {3}, 1), slot);
    Tape tape;
    Tensor loss;
    {
      const Tape::Recording recording(tape);
      loss = ops::sum(ops::mul(ops::fan_out(x, axis)[used], 2));
    }
    tape.backward(loss);
    CHECK(slot.gradient.to_host<float>() == Floats(3, 2));
  }
}

TEST_CASE("one device gives back what it gets, and records nothing") {
  const auto device = open_device("tiny/Backend");
  GradientSlot slot;
  const Tensor x = make_leaf(Tensor::full(*device, {4}, 1), slot);
  Tape tape;
  const Tape::Recording recording(tape);
  const MeshAxis one;
  CHECK(ops::fan_out(x, one).at(0).same_as(x));
  CHECK(ops::split_blocks(x, 0, one).at(0).same_as(x));
  CHECK(ops::sum_blocks(std::vector{x}, one).same_as(x));
  CHECK(ops::gather_blocks(std::vector{x}, 0, one).same_as(x));
  CHECK(tape.size() == 0);
}

TEST_CASE("blocks that do not fit the axis are refused") {
  const auto device = open_device("tiny/Backend");
  const Tensor x = Tensor::full(*device, {6, 2}, 1), y = Tensor::full(*device, {6}, 1);
  const MeshAxis axis(4);
  CHECK_THROWS_WITH(ops::split_blocks(x, 0, axis),
                    Contains("[split_blocks] expected an extent that is a multiple of the axis', "
                             "got 6 and 4"));
  CHECK_THROWS_WITH(ops::sum_blocks(std::vector{x, x}, axis),
                    Contains("[sum_blocks] expected 4 blocks, got 2"));
  CHECK_THROWS_WITH(ops::gather_blocks(std::vector{x, x}, 0, axis),
                    Contains("[gather_blocks] expected 4 blocks, got 2"));
  CHECK_THROWS_WITH(ops::sum_blocks(std::vector{x, y}, MeshAxis(2)),
                    Contains("[sum_blocks] expected blocks of shape [6, 2], got [6]"));
  CHECK_THROWS_WITH(ops::fan_out(Tensor(), axis), Contains("[fan_out]"));
  CHECK_THROWS_AS(MeshAxis(0), Error);
}

}  // namespace ops_mesh_test
