// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/class_scores.h"

#include "trivet/train/predictions.h"

namespace trivet::lm {

void ClassScores::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    if (predictions.weight(i) == 0) continue;
    counts_.add(predictions.label(i), predictions.predicted(i));
  }
}

Logs ClassScores::result() const {
  Logs logs;
  logs.set("accuracy", counts_.accuracy());
  if (counts_.classes() == 2) {
    logs.set("f1", counts_.f1(1));
  } else {
    logs.set("macro_f1", counts_.macro_f1());
  }
  logs.set("matthews_corrcoef", counts_.matthews_corrcoef());
  return logs;
}

}  // namespace trivet::lm
