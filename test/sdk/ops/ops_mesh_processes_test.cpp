// SPDX-License-Identifier: Apache-2.0
// Ops over blocks of which each process has some; threads act as the processes.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/tensor/tensor_bits.h"
#include "support/plugins.h"
#include "support/thread_group.h"
#include "trivet/error.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tape.h"
#include "trivet/tensor/axis_exchange.h"
#include "trivet/tensor/meta_device.h"

namespace ops_mesh_processes_test {
namespace {

using namespace trivet;
using trivet::test::Bits;
using trivet::test::bits_of;
using trivet::test::on_ranks;
using Tensors = std::vector<Tensor>;

// Of all sizes, so that each order of a sum has other bits.
Tensor values_of(Device& device, const Shape& shape, int seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const auto wave = static_cast<float>(std::sin(static_cast<double>(i * 31 + seed * 7 + 1)));
    values.push_back(std::ldexp(wave, static_cast<int>((i + 3 * seed) % 9) - 4));
  }
  return Tensor::from(device, std::span<const float>(values), shape);
}

struct Case {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Tensor(const Tensors&, const MeshAxis&)> op;
};

// The result, then the gradients of the inputs.
Tensors compute(const Case& of, Device& device, const MeshAxis& axis) {
  std::vector<GradientSlot> slots(of.inputs.size());
  Tensors inputs;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    inputs.push_back(make_leaf(values_of(device, of.inputs[i], static_cast<int>(i) + 1), slots[i]));
  }
  Tape tape;
  Tensor y, loss;
  {
    const Tape::Recording recording(tape);
    y = of.op(inputs, axis);
    loss = ops::sum(ops::mul(y, values_of(device, y.shape(), 9)));
  }
  tape.backward(loss);
  Tensors all = {y};
  for (const GradientSlot& slot : slots) all.push_back(slot.gradient);
  return all;
}

std::vector<Bits> compute(const Case& of, const std::string& backend, const MeshAxis& axis) {
  const auto device = test::open_device(backend);
  std::vector<Bits> all;
  for (const Tensor& x : compute(of, *device, axis)) all.push_back(bits_of(x));
  return all;
}

Tensor cross_entropy(const Tensors& in, const MeshAxis& axis,
                     const ops::LinearCrossEntropyOptions& options) {
  const std::int64_t rows = in[0].dim(0), classes = in[1].dim(options.transpose_w ? 0 : 1);
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < rows; ++i) {
    targets.push_back(i % 5 == 4 ? -1 : static_cast<std::int32_t>(i * 7 % classes));
  }
  Device& device = in[0].device();
  const Tensors w = ops::split_blocks(in[1], options.transpose_w ? 0 : 1, axis);
  return ops::linear_cross_entropy(in[0], w, Tensor::from<std::int32_t>(device, targets, {rows}),
                                   Tensor::full(device, {rows}, 0.25), options, axis)
      .loss;
}

const Case kCases[] = {
    {"fan_out and sum_blocks",
     {{2, 3}},
     [](const Tensors& in, const MeshAxis& axis) {
       Tensors y = ops::fan_out(in[0], axis);
       for (std::size_t i = 0; i < y.size(); ++i) {
         const auto block = static_cast<float>(axis.first()) + static_cast<float>(i);
         y[i] = ops::mul(ops::square(y[i]), 1.1F + block);
       }
       return ops::sum_blocks(y, axis);
     }},
    // Above the length of which each process adds a part.
    {"long sums",
     {{5, 4999}},
     [](const Tensors& in, const MeshAxis& axis) {
       Tensors y = ops::fan_out(in[0], axis);
       for (std::size_t i = 0; i < y.size(); ++i) {
         const auto block = static_cast<float>(axis.first()) + static_cast<float>(i);
         y[i] = ops::mul(y[i], 0.3F + block);
       }
       return ops::sum_blocks(y, axis);
     }},
    {"split_blocks and gather_blocks",
     {{2, 24, 3}, {2, 1, 3}},
     [](const Tensors& in, const MeshAxis& axis) {
       Tensors parts = ops::split_blocks(in[0], 1, axis);
       const Tensors factors = ops::fan_out(in[1], axis);
       for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = ops::mul(parts[i], factors[i]);
       return ops::gather_blocks(parts, -2, axis);
     }},
    {"products in blocks",
     {{3, 4}, {4, 24}, {24}, {24, 2}},
     [](const Tensors& in, const MeshAxis& axis) {
       const Tensors w = ops::split_blocks(in[1], -1, axis), b = ops::split_blocks(in[2], 0, axis);
       const Tensors out = ops::split_blocks(in[3], 0, axis);
       Tensors y = ops::fan_out(in[0], axis);
       for (std::size_t i = 0; i < y.size(); ++i) {
         y[i] = ops::linear(ops::linear(y[i], w[i], b[i], Activation::tanh), out[i]);
       }
       return ops::sum_blocks(y, axis);
     }},
    // The gradient of the weights is added to.
    {"weights that are used twice",
     {{3, 4}, {4, 24}},
     [](const Tensors& in, const MeshAxis& axis) {
       Tensors y = ops::fan_out(in[0], axis);
       const Tensors once = ops::split_blocks(in[1], 1, axis);
       const Tensors twice = ops::split_blocks(in[1], 1, axis);
       for (std::size_t i = 0; i < y.size(); ++i) {
         y[i] = ops::mul(ops::matmul(y[i], once[i]), ops::matmul(y[i], twice[i]));
       }
       return ops::gather_blocks(y, 1, axis);
     }},
    {"cross entropy",
     {{7, 5}, {5, 48}},
     [](const Tensors& in, const MeshAxis& axis) { return cross_entropy(in, axis, {}); }},
    // More rows than one chunk has.
    {"cross entropy with all options",
     {{600, 5}, {48, 5}},
     [](const Tensors& in, const MeshAxis& axis) {
       return cross_entropy(
           in, axis,
           {.transpose_w = true, .loss = {.label_smoothing = 0.1F, .z_loss = 0.01F}, .softcap = 2});
     }},
};

struct Axis {
  std::array<std::int64_t, 2> extents;  // over slices, and within them
  std::vector<int> processes;
};
const Axis kAxes[] = {{{1, 4}, {2, 4}}, {{2, 2}, {2, 4}}, {{1, 6}, {3, 6}}, {{3, 4}, {3, 6, 12}}};

// In both passes of the first of so many processes, on a meta device.
std::vector<AxisExchange> exchanges_on_paper(const Case& of, const SumTree& tree, int processes) {
  const auto meta = open_meta_device(test::any_backend());
  compute(of, *meta, MeshAxis::of_first_process(tree, processes));
  return take_axis_exchanges(*meta);
}

}  // namespace

TEST_CASE("processes that share an axis compute the bits of one that has all blocks", "[ops]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  for (const Case& of : kCases) {
    for (const auto& [extents, counts] : kAxes) {
      const SumTree tree(extents);
      const std::vector<Bits> whole = compute(of, backend, MeshAxis(tree));
      for (const int count : counts) {
        std::vector<std::vector<Bits>> found(static_cast<std::size_t>(count));
        on_ranks(count, [&, &tree = tree](ProcessGroup& group) {
          const MeshAxis axis(tree, group.split(0));
          found[static_cast<std::size_t>(group.rank())] = compute(of, backend, axis);
        });
        CAPTURE(of.name, backend, extents, count);
        for (const auto& bits : found) CHECK((bits == whole));
      }
    }
  }
}

TEST_CASE("a meta device counts what each of the processes exchanges") {
  for (const Case& of : kCases) {
    for (const auto& [extents, counts] : kAxes) {
      const SumTree tree(extents);
      for (const int count : counts) {
        std::vector<std::vector<AxisExchange>> found(static_cast<std::size_t>(count));
        on_ranks(count, [&, &tree = tree](ProcessGroup& group) {
          const auto device = test::open_device("tiny/Backend");
          compute(of, *device, MeshAxis(tree, group.split(0)));
          found[static_cast<std::size_t>(group.rank())] = take_axis_exchanges(*device);
        });
        CAPTURE(of.name, extents, count);
        const std::vector<AxisExchange> on_paper = exchanges_on_paper(of, tree, count);
        CHECK_FALSE(on_paper.empty());
        for (const auto& exchanges : found) CHECK((exchanges == on_paper));
      }
    }
  }
}

TEST_CASE("exchanges are counted by kind and size") {
  using Kind = AxisExchange::Kind;
  const SumTree tree(std::array<std::int64_t, 2>{1, 4});
  const auto* of = std::ranges::find(kCases, "products in blocks", &Case::name);
  // Sums of y [3, 2] and of the gradient of x [3, 4]; gathers of those of b [24], w2 [24, 2] and w1
  // [4, 24], of which each process has a half.
  const std::vector<AxisExchange> expected = {{Kind::sum, 24, 1, 0, 2},
                                              {Kind::sum, 48, 1, 0, 2},
                                              {Kind::gather, 48, 1, 0, 2},
                                              {Kind::gather, 96, 1, 0, 2},
                                              {Kind::gather, 192, 1, 0, 2}};
  CHECK((exchanges_on_paper(*of, tree, 2) == expected));
  // One process exchanges nothing.
  CHECK(exchanges_on_paper(*of, tree, 1).empty());
  const auto meta = open_meta_device(test::any_backend());
  const MeshAxis axis = MeshAxis::of_first_process(tree, 2);
  const Tensor x = Tensor::zeros(*meta, {3, 2});
  for (int time = 0; time < 3; ++time) ops::sum_blocks(std::vector{x, x}, axis);
  CHECK((take_axis_exchanges(*meta) == std::vector<AxisExchange>{{Kind::sum, 24, 3, 0, 2}}));
  CHECK(take_axis_exchanges(*meta).empty());
}

TEST_CASE("an axis has the blocks of its process") {
  const SumTree tree(std::array<std::int64_t, 2>{2, 6});
  std::vector<std::array<std::int64_t, 3>> found(6);
  on_ranks(6, [&](ProcessGroup& group) {
    const MeshAxis axis(tree, group.split(0));
    const MeshAxis processes = axis.of_processes();
    if (!axis.is_shared() || axis.extent() != 12) return;
    found[static_cast<std::size_t>(group.rank())] = {axis.first(), axis.count(),
                                                     processes.extent() * 10 + processes.first()};
  });
  for (std::int64_t rank = 0; rank < 6; ++rank) {
    CHECK(found[static_cast<std::size_t>(rank)] ==
          std::array<std::int64_t, 3>{2 * rank, 2, 60 + rank});
  }
  CHECK_FALSE(MeshAxis(tree).is_shared());
  CHECK(MeshAxis(tree).of_processes().extent() == 1);
  // Four of twelve neighbors, of which two are in another slice, are no part of a sum.
  CHECK_THROWS_WITH(MeshAxis::of_first_process(tree, 3),
                    "3 processes cannot share the 12 devices along an axis");
  CHECK_THROWS_AS(MeshAxis::of_first_process(tree, 5), Error);
}

TEST_CASE("blocks without the processes that have the others are for meta devices alone") {
  const MeshAxis axis = MeshAxis::of_first_process(SumTree(std::array<std::int64_t, 2>{1, 4}), 2);
  CHECK(axis.count() == 2);
  const auto meta = open_meta_device(test::any_backend());
  const Tensor x = Tensor::zeros(*meta, {3, 8});
  const Tensors parts = ops::split_blocks(x, 1, axis);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].shape() == Shape{3, 2});
  CHECK(ops::gather_blocks(parts, 1, axis).shape() == x.shape());
  CHECK(ops::sum_blocks(parts, axis).shape() == Shape{3, 2});
  const auto device = test::open_device("tiny/Backend");
  const Tensor real = Tensor::zeros(*device, {3, 8});
  CHECK_THROWS_WITH(
      ops::split_blocks(real, 1, axis),
      "[split_blocks] expected all blocks, or the processes that have the others, got "
      "2 of 4");
}

}  // namespace ops_mesh_processes_test
