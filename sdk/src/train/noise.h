// SPDX-License-Identifier: Apache-2.0
// Noise of training: VariationalNoise on the weights that a pass uses, GradientNoise on gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "layer/shared_block.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/train/learner_options.h"

namespace trivet::detail {

class VariationalNoise {
 public:
  // Throws ConfigError where no trainable variable gets any. Of weights in parts each process draws
  // the noise of those that it has.
  VariationalNoise(ParameterStore& store, const VariationalNoiseConfig& config);

  void add(RngKey key, std::int64_t step);
  void remove();

 private:
  void forget_gathered() const;  // weights of other processes, too
  ParameterStore& store_;
  double scale_;
  std::int64_t start_step_;
  std::vector<Parameter*> variables_;
  OwnParts has_;    // of the trainable values, this process
  Tensor values_;   // these
  Tensor without_;  // the same, before noise
  bool added_ = false;
};

// What GradientNoiseConfig adds to the gradients of an update.
class GradientNoise {
 public:
  // The block has whole variables in the parts of processes.
  GradientNoise(ParameterStore& store, const GradientNoiseConfig& config, const SharedBlock& block)
      : store_(store), block_(block), stddev_(config.stddev) {}

  void add(RngKey key);

 private:
  ParameterStore& store_;
  const SharedBlock& block_;
  double stddev_;
};

}  // namespace trivet::detail
