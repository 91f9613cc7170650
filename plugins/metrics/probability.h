// SPDX-License-Identifier: Apache-2.0
// The probability of one class among others.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "trivet/error.h"
#include "trivet/train/predictions.h"

namespace trivet::metrics {

// Throws Error, naming the metric, if there is no such class.
inline void check_class(std::int64_t c, const Predictions& predictions, const std::string& metric) {
  if (c < predictions.classes()) return;
  throw Error("metric " + metric + ": positive_class is " + std::to_string(c) +
              ", and the model has " + std::to_string(predictions.classes()) + " classes");
}

// The softmax's probability of a class in one example.
inline double probability_of(std::int64_t c, const Predictions& predictions, std::int64_t example) {
  // Without overflow: every exponent is the difference to the class's own logit.
  double others = 0;
  const auto own = static_cast<double>(predictions.logit(example, c));
  for (std::int64_t other = 0; other < predictions.classes(); ++other) {
    if (other != c) {
      others += std::exp(static_cast<double>(predictions.logit(example, other)) - own);
    }
  }
  return 1 / (1 + others);
}

// The sigmoid's, where several classes may be right.
inline double label_probability(std::int64_t c, const Predictions& predictions,
                                std::int64_t example) {
  return 1 / (1 + std::exp(-static_cast<double>(predictions.logit(example, c))));
}

}  // namespace trivet::metrics
