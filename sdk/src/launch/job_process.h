// SPDX-License-Identifier: Apache-2.0
// Starts the program of a job, without a copy of the caller's memory.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "trivet/launch/attempt.h"
#include "trivet/launch/job.h"

namespace trivet::launch {

struct JobFiles {
  int directory = -1;  // of the attempt
  int lock = -1;
  int out = -1;
  int errors = -1;
  int cgroup = -1;  // MemoryCgroup::entry() of the one that the process enters; -1: none
};

struct JobProcess {
  pid_t pid = 0;
  std::string failure;           // why the program was not started; `pid` has ended then
  std::string cgroup_failure{};  // why it runs outside of its cgroup
};

// In a session of its own, with started.json written; `directory` is the attempt's. All signals
// must be blocked in the caller, of which it is a child that is killed when the caller dies. Throws
// RetryError when there can be no more processes.
JobProcess spawn_job(const Job& job, const std::filesystem::path& directory,
                     const AttemptOptions& options, const JobFiles& files);

}  // namespace trivet::launch
