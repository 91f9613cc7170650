// SPDX-License-Identifier: Apache-2.0
// Resource use of the processes of this machine, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

namespace trivet {

struct TreeUsage {
  int processes = 0;              // 0: none
  double cpu_seconds = 0;         // so far, including ended children
  std::int64_t memory_bytes = 0;  // resident; shared memory counts for each process
};

// A snapshot of all processes. Skips processes that this user may not read.
class ProcessTable {
 public:
  ProcessTable();

  // All descendants of this process.
  TreeUsage usage_below(pid_t process) const;
  // Including the process itself.
  TreeUsage from(pid_t process) const;

 private:
  struct Process {
    double cpu_seconds = 0;
    std::int64_t memory_bytes = 0;
  };
  TreeUsage sum_of(std::vector<pid_t> waiting) const;

  std::map<pid_t, Process> processes_;
  std::map<pid_t, std::vector<pid_t>> children_;
};

}  // namespace trivet
