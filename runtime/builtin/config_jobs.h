// SPDX-License-Identifier: Apache-2.0
// The jobs providers that are part of the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trivet/config.h"
#include "trivet/launch/jobs_provider.h"

namespace trivet {

class EmptyJobs final : public launch::JobsProvider {
 public:
  using Config = launch::JobsProviderConfig;
  explicit EmptyJobs(const Config&) {}
  std::vector<std::pair<std::string, launch::JobConfig>> jobs(const Value&) const override {
    return {};
  }
};

struct ConfigJobsConfig : launch::JobsProviderConfig {
  bool standalone_eval = false;
  Map<Map<Value>> evals;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ConfigJobsConfig, launch::JobsProviderConfig,
    (standalone_eval,
     "Evaluates in a separate job, \"eval\", which follows the checkpoints of the job \"train\"."),
    (evals,
     "Further evaluations, each in a job of this name, which follows the checkpoints of the job "
     "\"train\". The table has the paths and values of the run's config that the evaluation "
     "changes: { \"task.eval_input.path\" = \"...\" }. Its records are in "
     "WU_DIR/continuous_eval-NAME."))

// The jobs of a run's config: "train" runs it, and evaluations follow it. A config whose mode only
// evaluates becomes the job "eval".
class ConfigJobs final : public launch::JobsProvider {
 public:
  using Config = ConfigJobsConfig;
  explicit ConfigJobs(const Config& config) : config_(config) {}
  std::vector<std::pair<std::string, launch::JobConfig>> jobs(const Value& config) const override;

 private:
  Config config_;
};

// Returns whether every job of an [xp] table equals the jobs of ConfigJobs: a run of the
// surrounding config in the config's mode.
bool only_runs_config(const Value& xp);

}  // namespace trivet
