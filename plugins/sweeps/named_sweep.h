// SPDX-License-Identifier: Apache-2.0
// Sweeps defined in a config file, selected by xp.sweep:
//
//   [sweep.default]                            # sweep = true
//   "trainer.learning_rate" = [1e-3, 1e-4]     # the product of its lines, the first one slowest
//   "task.model.hidden" = [[32], [64]]
//
//   [sweep.pairs]
//   zip = true                                 # the first values together, the second, ...
//   "trainer.train_steps" = [100, 200]
//   "trainer.learning_rate" = [1e-2, 1e-3]
//
//   [[sweep.points]]                           # each table is a point
//   seed = 1
//
// Several names make the product of their sweeps; the first varies slowest. If they vary the same
// field, the later name wins. "*" selects all, in alphabetical order.
#pragma once

#include <string>
#include <vector>

#include "trivet/launch/sweep_info.h"

namespace trivet::sweeps {

class NamedSweep : public launch::SweepInfo {
 public:
  NamedSweep(const launch::SweepContext& context, launch::SweepTarget target)
      : context_(context), target_(target) {}

  // Throws ConfigError for unknown names, and lists the known ones.
  std::vector<launch::SweepItem> items() const override;
  std::vector<std::string> tags() const override;
  bool needs_names() const override { return true; }

 private:
  launch::SweepContext context_;
  launch::SweepTarget target_;
};

// Varies the arguments of the jobs: --NAME=VALUE.
class ConfigSweep final : public NamedSweep {
 public:
  using Config = launch::SweepInfoConfig;
  ConfigSweep(const Config&, const launch::SweepContext& context)
      : NamedSweep(context, launch::SweepTarget::argument) {}
};

// Varies the run's config: --cfg.PATH=VALUE.
class TrainerSweep final : public NamedSweep {
 public:
  using Config = launch::SweepInfoConfig;
  TrainerSweep(const Config&, const launch::SweepContext& context)
      : NamedSweep(context, launch::SweepTarget::config) {}
};

}  // namespace trivet::sweeps
