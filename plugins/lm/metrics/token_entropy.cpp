// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/token_entropy.h"

#include "lm/metrics/logit_rows.h"
#include "trivet/ops.h"

namespace trivet::lm {

Tensor negative_entropy(SoftmaxHead& head, const Tensor& h, const Tensor& weights) {
  const auto of_logits = [](const Tensor& logits, std::int64_t) {
    return ops::sum(ops::mul(ops::softmax(logits), ops::log_softmax(logits)), -1);
  };
  return ops::weighted_mean(of_logit_rows(head, h, of_logits),
                            ops::reshape(weights, {weights.size()}));
}

}  // namespace trivet::lm
