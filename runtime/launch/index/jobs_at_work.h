// SPDX-License-Identifier: Apache-2.0
// The running jobs and runs: their progress and resource use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process_table.h"
#include "launch/index/experiment_index.h"

namespace trivet {

struct JobAtWork {
  std::string name;            // XID/WID/JOB, or the directory of a run that was not launched
  std::optional<UnitId> unit;  // empty for such a run
  std::string state, host;
  double started = 0;  // since 1970; 0: unknown
  RunStatus run;       // step -1 if the job is not a trivet run
  // Empty if unknown: no record yet, or another machine.
  std::optional<double> steps_per_second{}, examples_per_second{}, loss{}, cores{};
  std::optional<std::int64_t> memory_bytes{};
  int processes = 0;

  std::optional<double> seconds_left() const;
};

class JobsAtWork {
 public:
  // The experiments and runs below `root`.
  explicit JobsAtWork(std::filesystem::path root);

  // The current state. `cores` is the CPU time per second since the last call; in the first call,
  // since the job's start.
  std::vector<JobAtWork> look();

 private:
  void add_launched(const ProcessTable& processes, std::vector<JobAtWork>& jobs);
  void add_runs(const ProcessTable& processes, std::vector<JobAtWork>& jobs);
  void set_usage(JobAtWork& job, const TreeUsage& usage);

  std::filesystem::path root_;
  ExperimentIndex index_;
  struct Seen {
    double time = 0, cpu_seconds = 0, started = 0;
  };
  std::map<std::string, Seen> before_, now_;
};

}  // namespace trivet
