// SPDX-License-Identifier: Apache-2.0
// VariationalNoise: what VariationalNoiseConfig adds to weights, and their values without it.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/train/learner.h"

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

}  // namespace trivet::detail
