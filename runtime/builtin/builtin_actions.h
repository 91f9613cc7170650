// SPDX-License-Identifier: Apache-2.0
// The built-in actions, used in configs like this:
//
//   [[trainer.eval_actions]]
//   type = "trivet/NewBest"
//   metric = "accuracy"
//   actions = [{ type = "trivet/Export", name = "best" }]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/action.h"
#include "trivet/trainer.h"

namespace trivet {

struct PeriodicConfig : ActionConfig {
  std::int64_t interval = 0;
  std::vector<ConfigOf<Action>> actions;
};
TRIVET_CONFIG(PeriodicConfig, ActionConfig,
              (interval,
               "Steps between two runs of the actions; a multiple that a loop has crossed counts.",
               required, at_least(1)),
              (actions, "Actions to run, in order.", required))

class Periodic final : public PeriodicAction {
 public:
  using Config = PeriodicConfig;
  Periodic(const Config& config, ActionContext& context);
};

struct WhenConfig : ActionConfig {
  std::string metric;
  std::optional<double> above;
  std::optional<double> below;
  std::vector<ConfigOf<Action>> actions;

  void validate(Diagnostics& diagnostics) const;  // a bound must be given
};
TRIVET_CONFIG(WhenConfig, ActionConfig,
              (metric, "Number to compare. A missing number is an error.", required, names_metric),
              (above, "Runs the actions when the number is more than this."),
              (below,
               "Runs the actions when the number is less than this. With both bounds set, the "
               "number must lie between them."),
              (actions, "Actions to run, in order.", required))

class When final : public ConditionalAction {
 public:
  using Config = WhenConfig;
  When(const Config& config, ActionContext& context);
};

struct NewBestConfig : ActionConfig {
  std::string metric;
  Goal goal = Goal::max;
  std::vector<ConfigOf<Action>> actions;
};
TRIVET_CONFIG(NewBestConfig, ActionConfig,
              (metric, "The number to compare.", required, names_metric),
              (goal, "Whether a lower (min) or a higher (max) number is better."),
              (actions, "Actions for a new best value, in order.", required))

// The best value so far is in best_METRIC.json of the run's directory. The file is written after
// the actions have run, so a run that is killed earlier runs them again.
class NewBest final : public Action {
 public:
  using Config = NewBestConfig;
  NewBest(const Config& config, ActionContext& context);
  void run(const ActionEvent& event) override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 private:
  NewBestMetric best_;
  Actions actions_;
};

struct ExportConfig : ActionConfig {
  std::string name = "model";
  std::int64_t max_to_keep = 5;
};
TRIVET_CONFIG(ExportConfig, ActionConfig, (name, "Exports go to export/NAME-STEP/."),
              (max_to_keep, "Newest exports kept; 0: all.", at_least(0)))

// Writes the weights for use outside of training: model.safetensors with its manifest, which
// task.init_checkpoint and `trivet ckpt` read.
class ExportWeights final : public Action {
 public:
  using Config = ExportConfig;
  ExportWeights(const Config& config, ActionContext& context);
  void run(const ActionEvent& event) override;

 private:
  ActionContext context_;
  std::int64_t step_ = 0;
  ExportDirectories directories_;
};

}  // namespace trivet
