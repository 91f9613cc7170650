// SPDX-License-Identifier: Apache-2.0
#include "processes/start_run.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/process_info.h"
#include "base/terminal.h"
#include "processes/own_directory.h"
#include "processes/start_processes.h"

namespace trivet {

int start_run(const RunEngine& engine, int count, std::span<const std::string> words) {
  std::vector<std::string> command = {own_program().string(), "run"};
  command.insert(command.end(), words.begin(), words.end());
  // A launcher may give them a terminal of its own.
  if (!is_screen(stdout)) ::setenv("TERM", "dumb", 1);
  const int code = start_processes(*engine.engine, count, command, StopsBy::sigusr1);
  remove_left_directories();
  return code;
}

}  // namespace trivet
