// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/replaced_token_detection.h"

#include <numbers>

#include "lm/metrics/discriminator_accuracy.h"

namespace trivet::lm {

Metrics ReplacedTokenDetection::build_metrics(Phase phase) {
  Metrics metrics = MaskedLm::build_metrics(phase);
  metrics.push_back(std::make_unique<DiscriminatorAccuracy>());
  return metrics;
}

ExpectedInitialLoss::Range ReplacedTokenDetection::expected_initial_loss() const {
  Range range = MaskedLm::expected_initial_loss();
  const double chance = discriminator_weight() * std::numbers::ln2;
  range.low += chance / 2;
  range.high += chance * 2;
  range.reason += ", and the discriminator's chance of ln 2";
  return range;
}

}  // namespace trivet::lm
