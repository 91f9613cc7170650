// SPDX-License-Identifier: Apache-2.0
// Ewc: any optimizer with elastic weight consolidation (Kirkpatrick et al. 2017), which pulls the
// weights back to those that the training started from, in the form of Praxis'
// ewc_regularizer_weight:
//
//   w' = what the optimizer makes of w and g
//   w' -= lr * strength / 2 * importance * (w - w*)
//
// w is the value before the update, w* the value before the first update: that of
// task.init_checkpoint in a run that starts from one. The importance (the diagonal of the Fisher
// information) is a number for each variable. The slots are those of the optimizer, and "start" for
// w*, which is NaN before the first update.
//
//   optimizer = { type = "optim/Ewc", strength = 0.1, optimizer = "optim/Adam" }
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/around/around.h"
#include "trivet/config/map.h"
#include "trivet/config/patterns.h"

namespace trivet::optim {

struct EwcConfig : OptimizerConfig {
  ConfigOf<Optimizer> optimizer;
  double strength = 0;
  Map<double> importance;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(EwcConfig, trivet::OptimizerConfig,
              (optimizer, "The optimizer that gets the gradients.", required),
              (strength, "Strength of the pull to the weights of the start.", required,
               more_than(0), adjustable),
              (importance,
               "Importance of variables by a pattern that is found in their path: {\"head\" = 0}. "
               "The first pattern counts; 1 for other variables.",
               at_least(0)))

class Ewc final : public Around {
 public:
  using Config = EwcConfig;
  explicit Ewc(const Config& config);
  std::vector<std::string> slots() const override;
  double slot_start(std::string_view slot) const override;
  Shape slot_shape(std::string_view slot, const Parameter& parameter) const override;
  DType slot_dtype(std::string_view slot, const Parameter& parameter) const override;
  std::int64_t group_of(const Parameter& parameter) const override;
  void check_variables(std::span<const Parameter* const> variables) const override;

 private:
  struct Importance {
    Patterns pattern;
    double value;
  };
  void update_one(const OptimizerStep& step, const OptimizerSegment& segment) override;
  std::int64_t importances() const { return std::ssize(importances_); }

  Config config_;
  std::vector<Importance> importances_;  // the last one is of all variables
};

}  // namespace trivet::optim
