// SPDX-License-Identifier: Apache-2.0
// The built-in actions that end the training: trivet/Stop at once, trivet/EarlyStop when a number
// is good enough or improves no more.
//
//   [[trainer.eval_actions]]
//   type = "trivet/EarlyStop"
//   metric = "validation_loss"
//   goal = "min"
//   patience = 5
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trivet/action.h"
#include "trivet/config/goal.h"

namespace trivet {

struct StopConfig : ActionConfig {
  std::string reason = "trivet/Stop";

  void validate(Diagnostics& diagnostics) const;  // the reason must not be empty
};
TRIVET_CONFIG(StopConfig, ActionConfig,
              (reason, "The reason of the end, for status.json and the summary."))

class Stop final : public Action {
 public:
  using Config = StopConfig;
  Stop(const Config& config, ActionContext& context);
  void run(const ActionEvent& event) override;

 private:
  Config config_;
  std::function<void(const std::string&)> request_stop_;
};

struct EarlyStopConfig : ActionConfig {
  std::string metric;
  Goal goal = Goal::max;
  std::optional<std::int64_t> patience;
  double min_delta = 0;
  std::optional<double> target;
  std::int64_t start_step = 0;

  void validate(Diagnostics& diagnostics) const;  // patience or target must be set
};
TRIVET_CONFIG(
    EarlyStopConfig, ActionConfig, (metric, "The number to watch.", required, names_metric),
    (goal, "Whether a lower (min) or a higher (max) number is better."),
    (patience, "Evaluations, or loops, in a row without an improvement after which training ends.",
     at_least(1)),
    (min_delta, "An improvement is more than this over the best number so far.", at_least(0)),
    (target, "Training ends as soon as the number is this or better."),
    (start_step, "Numbers of earlier steps do not count.", at_least(0)))

// As Keras' EarlyStopping and Pax' early_stopping_fn with a target: the first number is the best
// one; then a number improves if it is better than the best by more than min_delta. NaN never
// improves.
class EarlyStop final : public Action {
 public:
  using Config = EarlyStopConfig;
  EarlyStop(const Config& config, ActionContext& context);
  void run(const ActionEvent& event) override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 private:
  bool reaches_target(double value) const;
  bool improves(double value) const;

  Config config_;
  std::function<void(const std::string&)> request_stop_;
  std::optional<double> best_;
  std::int64_t best_step_ = 0;
  std::int64_t waited_ = 0;  // events since the best one
};

}  // namespace trivet
