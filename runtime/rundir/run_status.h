// SPDX-License-Identifier: Apache-2.0
// What a run directory says about its run, for listings. Everything in it may be missing, damaged,
// of a later version or about to change.
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
  // As in status.json, and two that only a reader can tell: "lost", its process is gone, and
  // "silent", its last sign of life is old. "unknown" when status.json cannot be read.
  std::string state;
  std::string reported;                      // the state in status.json, as it stands there
  std::string mode, host, boot_id, message;  // empty: not said
  // -1 where status.json does not say.
  std::int64_t step = -1, target = -1, attempt = -1, pid = -1;
  double started = -1, time = -1;  // of the process and of its last sign of life, since 1970
  LastRecords last;
  std::string problem;  // why something could not be read; empty: nothing
};

// A directory with a status.json.
bool is_run(const std::filesystem::path& directory);

// The run directories at and below `root`, four levels deep, in the order of their names, in which
// numbers count as numbers. What cannot be looked into is passed over, as are the directories
// `left_out` with all below them. Throws RunError when `root` itself cannot be read.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& root,
                                             const std::set<std::filesystem::path>& left_out = {});

RunStatus run_info(const std::filesystem::path& directory);

// The part of it that status.json says. Throws RunError when it cannot be read.
void read_status(const std::filesystem::path& file, RunStatus& info);
// Finds `state` anew from all else.
void judge_state(RunStatus& info);

// Of a run that says it works (a state at whose end nothing is decided): does it still?
struct SignOfLife {
  double age = 0;            // seconds since the last one
  bool same_host = false;    // this machine is the run's
  bool same_boot = false;    // and has not been started anew since
  bool has_process = false;  // and there is a process of this id
};
std::string judged_state(std::string_view reported, const SignOfLife& sign);

// "run-2" comes before "run-10".
bool natural_less(std::string_view a, std::string_view b);

}  // namespace trivet
