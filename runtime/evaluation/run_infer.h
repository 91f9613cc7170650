// SPDX-License-Identifier: Apache-2.0
// RunInfer: the program "infer": what the task predicts for each example, without losses.
#pragma once

#include <cstdint>

#include "evaluation/program.h"
#include "trivet/extensions/predictor.h"

namespace trivet {

class RunInfer final : public Program {
 public:
  RunInfer(Task& task, const Predictor& predictor) : task_(task), predictor_(predictor) {}

  void begin() override { examples_ = 0; }
  void add(const Batch& batch, const ProgramStep& step) override;
  // "examples": their number.
  Logs result(std::int64_t global_step) override;

 private:
  Task& task_;
  const Predictor& predictor_;
  std::int64_t examples_ = 0;
};

// Gives the columns of each real example of a batch to step.take_output; returns their number.
// Throws PluginError if the predictor gives another number of rows than the batch has.
std::int64_t take_predictions(const Task& task, const Predictor& predictor, const Batch& batch,
                              const NestedMap& outputs, const ProgramStep& step);

}  // namespace trivet
