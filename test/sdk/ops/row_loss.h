// SPDX-License-Identifier: Apache-2.0
// The loss of softmax cross entropy in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "trivet/ops.h"

namespace trivet::test {

// loss = lse - (1 - s) logit[target] - s mean(logits) + z lse^2, 0 for a negative target.
inline double row_loss(const std::vector<double>& logits, std::int64_t target,
                       const ops::CrossEntropyOptions& o) {
  if (target < 0) return 0;
  double sum = 0, mean = 0;
  for (const double logit : logits) {
    sum += std::exp(logit);
    mean += logit / static_cast<double>(logits.size());
  }
  const double lse = std::log(sum);
  return lse - (1 - o.label_smoothing) * logits[static_cast<std::size_t>(target)] -
         o.label_smoothing * mean + o.z_loss * lse * lse;
}

}  // namespace trivet::test
