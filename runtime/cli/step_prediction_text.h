// SPDX-License-Identifier: Apache-2.0
// Formats predicted steps for `trivet summary --on-paper`.
#pragma once

#include <string>
#include <vector>

#include "cli/step_prediction.h"
#include "device/network.h"
#include "trivet/config/value.h"

namespace trivet {

struct PredictedSteps {
  Networks networks;
  double flop_rate = 0;       // of a process, per second
  std::string rate_source{};  // "--device-flops"
  std::vector<StepPrediction> rows{};
};

std::string prediction_text(const PredictedSteps& steps);  // lines, with a table
Value prediction_row(const PredictedSteps& steps);

}  // namespace trivet
