// SPDX-License-Identifier: Apache-2.0
// What a DefaultTrainer has while it trains, for the files that it is made of.
#pragma once

#include <memory>

#include "train/default_trainer.h"
#include "train/divergence_guard.h"
#include "train/running_means.h"
#include "trivet/metric.h"
#include "trivet/train/learner.h"

namespace trivet {

struct DefaultTrainer::Training {
  Training(Device& device, const TrainerConfig& config) : loss(device), bad_steps(config) {}

  std::unique_ptr<Learner> learner;
  Metrics metrics;
  Value metric_names;  // as they are before any step
  std::unique_ptr<Input> input;
  LossMean loss;
  LogMeans logs;
  DivergenceGuard bad_steps;
  // The step under way has been added to the metrics, and may be refused.
  bool in_doubt = false;

  // As they were before the step, while steps may be left out.
  struct Before {
    Tensor states;
    Value metrics;
    LogMeans logs;
  } before;
};

}  // namespace trivet
