// SPDX-License-Identifier: Apache-2.0
// run_program: another program, run to its end with what it prints collected. For orchestrators
// that work by a cluster's commands.
#pragma once

#include <string>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

struct ProgramOptions {
  double timeout_seconds = 0;  // then it is killed, with all of its process group; 0: never
  // "NAME=VALUE"; what it gets instead of this process's environment, unless empty.
  std::vector<std::string> environment{};
};

struct ProgramResult {
  int exit_code = 0;  // 128 + N when signal N ended it, as a shell has it
  bool timed_out = false;
  std::string out, errors;
};

// argv[0] is a path or a name on PATH; standard input is empty. The program does not outlive the
// calling thread. Throws RunError when it cannot be started, or prints more than 256 MiB.
TRIVET_API ProgramResult run_program(const std::vector<std::string>& argv,
                                     const ProgramOptions& options = {});

}  // namespace trivet
