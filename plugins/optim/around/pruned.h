// SPDX-License-Identifier: Apache-2.0
// Pruned: any optimizer with magnitude pruning (Zhu and Gupta 2017), as the pruning of Model
// Garden's models by TensorFlow's toolkit. From begin_step to end_step, every `interval` updates,
// the smallest weights of each pruned variable become 0, and stay 0 until the next choice:
//
//   r = (s - begin_step) / (end_step - begin_step)
//   sparsity = final + (initial - final) (1 - r)^power
//   mask = |w'| among the round((1 - sparsity) n) largest; equal ones are all kept
//   w'' = mask * w'
//
// where s counts the updates before this one, and w' is what the optimizer makes of w. The slots
// are those of the optimizer, and "mask", ones at first. Moving averages of the weights are not
// masked.
//
//   optimizer = { type = "optim/Pruned", final_sparsity = 0.8, end_step = 10000,
//                 optimizer = "optim/Adam" }
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/around/around.h"
#include "trivet/config/patterns.h"

namespace trivet::optim {

struct PrunedConfig : OptimizerConfig {
  ConfigOf<Optimizer> optimizer;
  std::vector<std::string> variables;
  double initial_sparsity = 0;
  double final_sparsity = 0;
  std::int64_t begin_step = 0;
  std::int64_t end_step = 0;
  std::int64_t interval = 100;
  double power = 3;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PrunedConfig, trivet::OptimizerConfig,
              (optimizer, "The optimizer that gets the gradients.", required),
              (variables,
               "Patterns that are found in the paths of the variables to prune. Empty: all with "
               "two axes or more."),
              (initial_sparsity, "Share of the weights that are 0 from begin_step on.",
               between(0.0, 1.0), adjustable),
              (final_sparsity, "Share of the weights that are 0 from end_step on.", required,
               between(0.0, 1.0), adjustable),
              (begin_step, "First update that prunes.", at_least(0), adjustable),
              (end_step, "Update from which the same weights stay 0.", required, at_least(1),
               adjustable),
              (interval, "Updates between two choices of the weights.", at_least(1), adjustable),
              (power, "Exponent of the rise of the sparsity: 1 for a straight line.", more_than(0),
               adjustable))

class Pruned final : public Around {
 public:
  using Config = PrunedConfig;
  explicit Pruned(const Config& config);
  std::vector<std::string> slots() const override;
  double slot_start(std::string_view slot) const override;
  Shape slot_shape(std::string_view slot, const Parameter& parameter) const override;
  DType slot_dtype(std::string_view slot, const Parameter& parameter) const override;
  bool per_variable() const override { return true; }
  void check_variables(std::span<const Parameter* const> variables) const override;

 private:
  void update_one(const OptimizerStep& step, const OptimizerSegment& segment) override;
  bool prunes(const Parameter& parameter) const;
  bool chooses(std::int64_t step) const;
  double sparsity_at(std::int64_t step) const;

  Config config_;
  Patterns patterns_;
};

}  // namespace trivet::optim
