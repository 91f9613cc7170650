// SPDX-License-Identifier: Apache-2.0
// RunEval: the program "eval": the mean loss, the metrics and the aggregated logs of the task.
#pragma once

#include <memory>

#include "evaluation/program.h"
#include "trivet/extensions/predictor.h"

namespace trivet {

class RunEval final : public Program {
 public:
  // `predictor` gives the outputs; may be null.
  RunEval(Task& task, const Predictor* predictor);

  void begin() override;
  void add(const Batch& batch, const ProgramStep& step) override;
  Logs result(std::int64_t global_step) override;

 private:
  Task& task_;
  const Predictor* predictor_;
  Metrics metrics_;
  double loss_sum_ = 0, weight_sum_ = 0;
  std::unique_ptr<AggregatedLogs> aggregated_;
};

}  // namespace trivet
