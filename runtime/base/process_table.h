// SPDX-License-Identifier: Apache-2.0
//
// What the processes of this machine use, as /proc tells.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <sys/types.h>

namespace trivet {

struct TreeUsage {
  int processes = 0;              // 0: there are none
  double cpu_seconds = 0;         // so far, with those of children that have ended
  std::int64_t memory_bytes = 0;  // resident; what processes share counts for each of them
};

// All processes as of one moment. Those that may not be looked at are left out.
class ProcessTable {
 public:
  ProcessTable();

  // Of all below this process, children and theirs.
  TreeUsage below(pid_t process) const;
  // With the process itself.
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
