// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/logit_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "trivet/layer/remat.h"
#include "trivet/ops.h"

namespace trivet::lm {
namespace {

constexpr std::int64_t kLogitRows = 512;  // at once

}  // namespace

Tensor of_logit_rows(SoftmaxHead& head, const Tensor& h, const OfLogits& of_logits) {
  const Tensor rows = ops::reshape(h, {h.size() / head.input_dims(), head.input_dims()});
  if (rows.dim(0) == 0) return Tensor::zeros(h.device(), {0});
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < rows.dim(0); begin += kLogitRows) {
    const std::int64_t end = std::min(rows.dim(0), begin + kLogitRows);
    const std::array inputs = {ops::contiguous(ops::slice(rows, 0, begin, end))};
    const auto compute = [&head, of_logits, begin](std::span<const Tensor> in, RematPass) {
      FpropContext context;
      return std::vector<Tensor>{of_logits(head.logits(in[0], context), begin)};
    };
    parts.push_back(remat(compute, inputs)[0]);
  }
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 0);
}

Tensor label_log_probabilities(SoftmaxHead& head, const Tensor& h, const Tensor& labels) {
  const Tensor flat = ops::reshape(labels, {labels.size()});
  const auto of_logits = [flat](const Tensor& logits, std::int64_t begin) {
    return ops::neg(
        ops::softmax_cross_entropy(logits, ops::slice(flat, 0, begin, begin + logits.dim(0))));
  };
  return ops::reshape(of_logit_rows(head, h, of_logits), labels.shape());
}

}  // namespace trivet::lm
