// SPDX-License-Identifier: Apache-2.0
// Reads the status of a run from its directory, for listings. Files may be missing, damaged, of a
// later version or about to change.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rundir/metrics_reader.h"

namespace trivet {

struct RunStatus {
  std::filesystem::path path;
  // The states of status.json, and two that only a reader can find: "lost": the process is gone;
  // "silent": the last sign of life is old. "unknown": status.json cannot be read.
  std::string state;
  std::string reported;                      // the state in status.json, unchanged
  std::string mode, host, boot_id, message;  // empty: unset
  // -1: not in status.json.
  std::int64_t step = -1, target = -1, attempt = -1, pid = -1;
  double started = -1, time = -1;  // start of the process and last sign of life, since 1970
  LastRecords last;
  std::string problem;  // why something could not be read; empty: no error
};

// A directory with a status.json.
bool is_run(const std::filesystem::path& directory);

// The run directories at and below `root`, four levels deep, in the order of their names; numbers
// in names sort as numbers. Skips unreadable directories, and `left_out` with all directories
// below. Throws RunError if `root` cannot be read.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& root,
                                             const std::set<std::filesystem::path>& left_out = {});

RunStatus run_info(const std::filesystem::path& directory);

// Reads only status.json. Throws RunError if it cannot be read.
void read_status(const std::filesystem::path& file, RunStatus& info);
// Computes `state` from the other members.
void judge_state(RunStatus& info);

// Whether a run with an active state is still alive.
struct SignOfLife {
  double age = 0;            // seconds since the last one
  bool same_host = false;    // this is the run's machine
  bool same_boot = false;    // and it was not rebooted
  bool has_process = false;  // and a process with this id exists
};
std::string judged_state(std::string_view reported, const SignOfLife& sign);

// "run-2" comes before "run-10".
bool natural_less(std::string_view a, std::string_view b);

}  // namespace trivet
