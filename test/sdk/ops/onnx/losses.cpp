// SPDX-License-Identifier: Apache-2.0
// Losses over [N, C, d1, ..] with targets [N, d1, ..], and dropout outside training.
#include <algorithm>

#include "sdk/ops/onnx/operators.h"

namespace trivet::test::onnx {
namespace {

// [N, C, d1, ..] as [N * d1 * .., C].
Tensor class_rows(const Tensor& x) {
  std::vector<int> order{0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  order.push_back(1);
  return ops::reshape(permuted(x, order), {-1, x.dim(1)});
}

struct Targets {
  Tensor classes;  // i32 [rows], -1 where left out
  Tensor weights;  // f32 [rows]
};

Targets targets_of(const Call& c, std::int64_t left_out, bool leaves_out) {
  std::vector<float> by_class(static_cast<std::size_t>(c.f32().dim(1)), 1);
  if (c.has(2)) by_class = c.f32(2).to_host<float>();
  std::vector<std::int32_t> classes;
  std::vector<float> weights;
  for (const std::int64_t target : c.integers(1)) {
    const bool out = leaves_out && target == left_out;
    classes.push_back(out ? -1 : static_cast<std::int32_t>(target));
    weights.push_back(out ? 0 : by_class.at(static_cast<std::size_t>(target)));
  }
  const auto n = static_cast<std::int64_t>(classes.size());
  return {Tensor::from<std::int32_t>(c.device, classes, {n}),
          Tensor::from<float>(c.device, weights, {n})};
}

Tensor reduced(const Call& c, const Tensor& losses, const Targets& targets) {
  const std::string reduction = c.node.text("reduction", "mean");
  if (reduction == "mean") return ops::weighted_mean(losses, targets.weights);
  const Tensor weighted = ops::mul(losses, targets.weights);
  return reduction == "sum" ? ops::sum(weighted) : ops::reshape(weighted, c.any(1).shape());
}

Targets targets_of(const Call& c) {
  return targets_of(c, c.node.integer("ignore_index", 0), c.node.has("ignore_index"));
}

Outputs cross_entropy(const Call& c) {
  const Tensor& x = c.f32();
  const Targets targets = targets_of(c);
  const Tensor rows = class_rows(x);
  const Tensor loss = reduced(c, ops::softmax_cross_entropy(rows, targets.classes), targets);
  if (c.node.outputs.size() < 2) return {loss};
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[1], order.back());
  return {loss, permuted(ops::log_softmax(permuted(x, order)), order)};
}

// Looks up the logarithms by index in a table.
Outputs negative_log_likelihood(const Call& c) {
  const Targets targets = targets_of(c);
  const Tensor rows = class_rows(c.f32());
  std::vector<std::int32_t> at;
  const auto classes = targets.classes.to_host<std::int32_t>();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    at.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) * rows.dim(1)) +
                 std::max(classes[i], 0));
  }
  const auto n = static_cast<std::int64_t>(at.size());
  const Tensor index = Tensor::from<std::int32_t>(c.device, at, {n});
  const Tensor picked = ops::gather_rows(ops::reshape(rows, {-1, 1}), index);
  return {reduced(c, ops::neg(ops::reshape(picked, {n})), targets)};
}

Outputs dropped(const Call& c) {
  const float rate = c.has(1) ? c.f32(1).item() : c.node.number("ratio", 0.5F);
  const bool trains = c.has(2) && c.any(2).item() != 0;
  if (trains && rate > 0) throw NoCounterpart("the bits of ONNX's dropout");
  Outputs out{ops::dropout(c.f32(), 0, RngKey(1))};
  if (c.node.outputs.size() > 1) {
    out.push_back(Tensor::full(c.device, c.f32().shape(), 1, DType::boolean));
  }
  return out;
}

}  // namespace

void add_losses(Operators& all) {
  all["SoftmaxCrossEntropyLoss"] = cross_entropy;
  all["NegativeLogLikelihoodLoss"] = negative_log_likelihood;
  all["Dropout"] = dropped;
}

}  // namespace trivet::test::onnx
