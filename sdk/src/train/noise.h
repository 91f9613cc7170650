// SPDX-License-Identifier: Apache-2.0
// Noise of training: VariationalNoise on the weights that a pass uses, GradientNoise on gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/layer/parameter_store.h"
#include "trivet/train/learner_options.h"

namespace trivet::detail {

class VariationalNoise {
 public:
  // Throws ConfigError where no trainable variable gets any.
  VariationalNoise(ParameterStore& store, const VariationalNoiseConfig& config);

  void add(RngKey key, std::int64_t step);
  void remove();

 private:
  ParameterStore& store_;
  double scale_;
  std::int64_t start_step_;
  std::vector<Parameter*> variables_;
  Tensor without_;  // all trainable values
  bool added_ = false;
};

// What GradientNoiseConfig adds to the gradients of an update.
class GradientNoise {
 public:
  GradientNoise(ParameterStore& store, const GradientNoiseConfig& config)
      : store_(store), stddev_(config.stddev) {}

  void add(RngKey key);

 private:
  ParameterStore& store_;
  double stddev_;
};

}  // namespace trivet::detail
