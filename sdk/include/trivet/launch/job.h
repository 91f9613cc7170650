// SPDX-License-Identifier: Apache-2.0
// Job: one process of a work unit, as an orchestrator gets it: everything resolved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace trivet {

struct Job {
  std::string name;                                      // "train", "eval"
  std::vector<std::string> argv;                         // argv[0] is the program
  std::vector<std::pair<std::string, std::string>> env;  // added to the orchestrator's own
  std::filesystem::path directory;  // of the work unit; stdout and stderr go below it
  std::int64_t cores = 1;
  std::int64_t memory_bytes = 0;  // 0: not limited
  std::int64_t gpus = 0;
  double time_limit_seconds = 0;  // 0: none
  std::int64_t retries = 0;
  std::vector<std::string> after;  // jobs of the same unit that must have ended well
};

struct WorkUnit {
  std::int64_t wid = 0;  // 1, 2, ... within the experiment
  std::string identity;  // hash of the resolved unit
  std::filesystem::path directory;
  std::vector<Job> jobs;
};

}  // namespace trivet
