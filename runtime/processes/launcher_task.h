// SPDX-License-Identifier: Apache-2.0
// LauncherTask: what the environment says about a launcher that has started this process, also
// where no engine (run_engine.h) is used. No plugin is opened.
#pragma once

#include <string>

namespace trivet {

struct LauncherTask {
  std::string launcher;  // "mpirun" or "srun"
  int rank = 0;
  int size = 1;  // processes that it has started together
};

// One alone without a launcher.
LauncherTask launcher_task();

}  // namespace trivet
