// SPDX-License-Identifier: Apache-2.0
// TaskSampler: chooses the task of a step of interleaved training. After Model Garden's
// official/modeling/multitask/task_sampler.py. Task i of weight w_i is drawn with probability w_i^a
// / sum of all w_j^a, where
//
//   uniform        a = 0
//   proportional   a = alpha
//   annealing      a = 1 - 0.8 (epoch - 1) / (epochs - 1 + 1e-10)
//                  epoch = floor(step / steps_per_epoch), epochs = total_steps / steps_per_epoch
//
// As in the original, epochs are counted from 0, so annealing starts slightly above 1. It ends at
// 0.2 and stays there; the original continues to fall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trivet/config.h"

namespace trivet::multitask {

enum class Sampling { uniform, proportional, annealing };
TRIVET_ENUM(Sampling, uniform, proportional, annealing)

struct SamplerConfig {
  Sampling method = Sampling::proportional;
  double alpha = 1;
  std::int64_t steps_per_epoch = 5;
  std::int64_t total_steps = 20;
  std::int64_t seed = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SamplerConfig, trivet::NoBase,
              (method, "How weights become probabilities. uniform ignores the weights."),
              (alpha, "proportional: the power of the weights; 0 is uniform.", at_least(0)),
              (steps_per_epoch, "annealing: steps after which probabilities change.", at_least(1)),
              (total_steps, "annealing: steps after which probabilities stay constant.",
               at_least(1)),
              (seed, "Seed of the sampler."))

class TaskSampler {
 public:
  // Weights must be positive.
  TaskSampler(const SamplerConfig& config, std::vector<double> weights);

  // The probability of each task at a step counted from 0.
  std::vector<double> probabilities(std::int64_t step) const;
  // Depends only on seed, step and probabilities.
  std::size_t draw(std::int64_t step) const;

 private:
  double exponent(std::int64_t step) const;

  SamplerConfig config_;
  std::vector<double> weights_;
};

}  // namespace trivet::multitask
