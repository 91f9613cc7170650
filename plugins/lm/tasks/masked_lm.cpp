// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/masked_lm.h"

#include <utility>

#include "lm/metrics/token_metrics.h"

namespace trivet::lm {

Metrics MaskedLm::build_metrics(Phase) {
  TokenMetricsConfig config;
  config.accuracy = "masked_lm_accuracy";
  config.bits_per_byte = false;  // masked tokens alone do not measure the text
  Metrics metrics;
  metrics.push_back(std::make_unique<TokenMetrics>(config));
  return with_losses(std::move(metrics));
}

}  // namespace trivet::lm
