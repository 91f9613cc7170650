// SPDX-License-Identifier: Apache-2.0
// Cross entropy whose classes are in blocks: values and gradients on every backend.
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "sdk/ops/row_loss.h"
#include "trivet/error.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tape.h"

namespace ops_mesh_loss_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Floats = std::vector<float>;
using Head = ops::LinearCrossEntropyOptions;

constexpr std::int64_t kClasses = 12, kIn = 4;

Tensor loss_of(std::span<const Tensor> in, const Tensor& weights, const Head& head,
               const MeshAxis& axis) {
  const std::vector<Tensor> w = ops::split_blocks(in[1], head.transpose_w ? 0 : 1, axis);
  return ops::linear_cross_entropy(in[0], w, in[2], weights, head, axis).loss;
}

// The sum of 0.5 times the loss of each row.
Array reference(std::span<const Array> in, const Head& head) {
  double total = 0;
  for (std::int64_t r = 0; r < in[0].dim(0); ++r) {
    std::vector<double> logits;
    for (std::int64_t c = 0; c < kClasses; ++c) {
      double z = 0;
      for (std::int64_t k = 0; k < kIn; ++k) {
        z += in[0].at({r, k}) * (head.transpose_w ? in[1].at({c, k}) : in[1].at({k, c}));
      }
      const auto cap = static_cast<double>(head.softcap);
      logits.push_back(cap > 0 ? cap * std::tanh(z / cap) : z);
    }
    total += 0.5 * row_loss(logits, static_cast<std::int64_t>(in[2].at({r})), head.loss);
  }
  return {{}, {total}};
}

std::vector<Head> heads() {
  return {{},
          {.transpose_w = true},
          {.loss = {.label_smoothing = 0.2F, .z_loss = 0.02F}},
          {.transpose_w = true, .softcap = 3},
          {.transpose_w = true, .loss = {.label_smoothing = 0.1F, .z_loss = 0.01F}, .softcap = 2}};
}

struct Gradients {
  Floats loss, per_row, h, w;
};

Tensor values(Device& device, std::int64_t seed, const Shape& shape, double scale) {
  Floats out;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    out.push_back(static_cast<float>(scale * std::sin(static_cast<double>(i * 13 + seed))));
  }
  return Tensor::from<float>(device, out, shape);
}

// Of more rows than a chunk has, with targets of all blocks and rows that do not count.
Gradients gradients(Device& device, const Head& head, std::int64_t blocks) {
  constexpr std::int64_t kRows = 700;
  std::vector<std::int32_t> targets;
  for (std::int32_t i = 0; i < kRows; ++i) targets.push_back(i * 7 % 14 - 2);
  for (std::int32_t& target : targets) target = std::min<std::int32_t>(target, kClasses - 1);
  GradientSlot h_slot, w_slot;
  const Tensor h = make_leaf(values(device, 1, {kRows, kIn}, 1), h_slot);
  const Tensor w = make_leaf(
      values(device, 2, head.transpose_w ? Shape{kClasses, kIn} : Shape{kIn, kClasses}, 1), w_slot);
  const MeshAxis axis(blocks);
  Tape tape;
  ops::LinearCrossEntropy out;
  {
    const Tape::Recording recording(tape);
    out = ops::linear_cross_entropy(h, ops::split_blocks(w, head.transpose_w ? 0 : 1, axis),
                                    Tensor::from<std::int32_t>(device, targets, {kRows}),
                                    Tensor::full(device, {kRows}, 0.5), head, axis);
  }
  tape.backward(out.loss);
  return {out.loss.to_host<float>(), out.per_row.to_host<float>(), h_slot.gradient.to_host<float>(),
          w_slot.gradient.to_host<float>()};
}

void check_close(const Floats& got, const Floats& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = static_cast<double>(got[i]), b = static_cast<double>(want[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  CHECK(std::sqrt(difference / size) < 5e-6);
}

}  // namespace

TEST_CASE("the loss of classes in blocks follows its formula, and so do its gradients", "[ops]") {
  for (const std::int64_t blocks : {1, 2, 3, 4}) {
    for (const Head& head : heads()) {
      check({.name = "linear_cross_entropy of " + std::to_string(blocks) + " blocks",
             .inputs = {{{3, kIn}, -1, 1},
                        {head.transpose_w ? Shape{kClasses, kIn} : Shape{kIn, kClasses}, -1, 1},
                        {{3}, -1, kClasses, DType::i32}},
             .op =
                 [=](auto in) {
                   const Tensor weights = Tensor::full(in[0].device(), {3}, 0.5);
                   return loss_of(in, weights, head, MeshAxis(blocks));
                 },
             .reference = [=](auto in) { return reference(in, head); }});
    }
  }
}

TEST_CASE("classes in blocks have the loss and gradients of the whole, over chunks of rows",
          "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    for (const Head& head : heads()) {
      const auto device = open(backend);
      const Gradients whole = gradients(*device, head, 1);
      for (const std::int64_t blocks : {2, 4, 12}) {
        INFO(backend.name << ", blocks: " << blocks << ", cap " << head.softcap);
        const Gradients split = gradients(*device, head, blocks);
        check_close(split.loss, whole.loss);
        check_close(split.per_row, whole.per_row);
        check_close(split.h, whole.h);
        check_close(split.w, whole.w);
      }
    }
  }
}

// Logits 0 .. 3 plus an offset that f32 adds exactly, label 3.
TEST_CASE("the loss of classes in blocks keeps its digits at large logits", "[ops]") {
  const auto device = open_any();
  for (const float offset : {0.0F, 1e4F, 1e6F, -1e6F}) {
    for (const float smoothing : {0.0F, 0.1F}) {
      const Floats row{offset, offset + 1, offset + 2, offset + 3};
      const MeshAxis axis(2);
      const Head head{.loss = {.label_smoothing = smoothing}};
      const ops::LinearCrossEntropy got = ops::linear_cross_entropy(
          Tensor::full(*device, {1, 1}, 1),
          ops::split_blocks(Tensor::from<float>(*device, row, {1, 4}), 1, axis),
          Tensor::full(*device, {1}, 3, DType::i32), Tensor::full(*device, {1}, 1), head, axis);
      const double want = row_loss({0, 1, 2, 3}, 3, {smoothing, 0});
      CHECK(got.loss.item() == Approx(want).epsilon(1e-6));
    }
  }
}

TEST_CASE("frozen weights of blocks, or a frozen input, have no gradient", "[ops]") {
  const auto device = open_any();
  const MeshAxis axis(2);
  for (const bool frozen_weights : {false, true}) {
    GradientSlot slot;
    const Tensor h = values(*device, 1, {3, kIn}, 1), w = values(*device, 2, {kIn, kClasses}, 1);
    const Tensor leaf = make_leaf(frozen_weights ? h : w, slot);
    Tape tape;
    Tensor loss;
    {
      const Tape::Recording recording(tape);
      const Tensor in[] = {frozen_weights ? leaf : h, frozen_weights ? w : leaf,
                           Tensor::full(*device, {3}, 5, DType::i32)};
      loss = loss_of(in, Tensor::full(*device, {3}, 1), {}, axis);
    }
    tape.backward(loss);
    CHECK(slot.gradient.shape() == leaf.shape());
  }
}

TEST_CASE("classes in blocks that do not fit are refused", "[ops]") {
  const auto device = open_any();
  const MeshAxis axis(2);
  const Tensor h = Tensor::zeros(*device, {2, 4}), weight = Tensor::full(*device, {2}, 1);
  const Tensor w = Tensor::zeros(*device, {4, 3}), other = Tensor::zeros(*device, {4, 2});
  const std::vector<std::int32_t> classes{5, 6};
  const Tensor targets = Tensor::from<std::int32_t>(*device, classes, {2});
  const auto loss = [&](const std::vector<Tensor>& blocks, const Tensor& labels) {
    return ops::linear_cross_entropy(h, blocks, labels, weight, {}, axis);
  };
  CHECK_THROWS_WITH(loss({w, w}, targets), Contains("targets below 6") && Contains("6 in row 1"));
  CHECK_THROWS_WITH(loss({w}, targets), Contains("expected 2 blocks, got 1"));
  CHECK_THROWS_WITH(loss({w, other}, targets), Contains("blocks of shape [4, 3], got [4, 2]"));
  CHECK_THROWS_WITH(
      ops::linear_cross_entropy(h, std::vector{w, w}, targets, weight, {.transpose_w = true}, axis),
      Contains("blocks [n, in] of w"));
}

}  // namespace ops_mesh_loss_test
