// SPDX-License-Identifier: Apache-2.0
// WeightAverage: the moving average of EmaConfig, laid out like the store's blocks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "layer/shared_block.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/train/learner_options.h"

namespace trivet::detail {

class WeightAverage {
 public:
  WeightAverage(ParameterStore& store, const EmaConfig& config, const SharedBlock& block);

  bool before_update() const { return config_.before_update; }

  void start();                       // at the weights there are
  void update(std::int64_t updates);  // when `updates` are done
  void swap();                        // with the weights, of which all processes get all
  std::vector<SharedTensor> tensors() const;

 private:
  ParameterStore& store_;
  const SharedBlock& shared_;
  EmaConfig config_;
  // value: the average, gradient: the weights. First the trainable ones, then, if they are averaged
  // and there are any, the states.
  std::vector<OptimizerSegment> blocks_;
};

}  // namespace trivet::detail
