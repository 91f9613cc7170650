// SPDX-License-Identifier: Apache-2.0
// JobArray: one job of many units, each of which a cluster starts as a task of its own. A file that
// all machines see describes them, so nothing of a job has to pass through a shell:
//
//   trivet job FILE TASK      runs the job of unit wids[TASK] under a shim (attempt.h)
//
// This is run_job(), which records what becomes of the job, tries it again as `retries` says, and
// asks to be started once more, elsewhere or later, by its exit code.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/launch/attempt.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"

namespace trivet::launch {

struct JobArray {
  std::filesystem::path experiment;  // its directory, which holds the records
  std::string job;
  std::vector<std::int64_t> wids;                          // of the tasks 0, 1, ...
  double grace_seconds = 30;                               // from SIGTERM to SIGKILL
  std::vector<std::pair<std::string, std::string>> env{};  // beside that of the job, which wins
  // Variables of the task's environment that the job gets, too: "CUDA_VISIBLE_DEVICES"; "SLURM_*"
  // is all that begin so.
  std::vector<std::string> pass_env{};
  // Words in front of the job's, which start its replicas: {"/usr/bin/env", "srun", ...}. The first
  // is an absolute path. "{nodes}", "{replicas}" and "{replicas_on_node}" in them are the job's. A
  // job of one process is started without them.
  std::vector<std::string> starter{};
  int end_signal = SIGTERM;  // AttemptOptions::end_signal
};

// For the file. Throws RunError for a table that is none.
TRIVET_API Value to_value(const JobArray& array);
TRIVET_API JobArray job_array_from(const Value& value);

// The signals that a task may be sent. run_job() holds them back until an attempt takes them; one
// that came before is a reason not to begin. A program blocks them as the first thing it does.
inline constexpr std::array<int, 5> kTaskSignals = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

struct JobRunOptions {
  AttemptOptions attempt{};
  std::string detail{};  // of the job's status while it runs, for people: "Slurm job 12_3"
  // After a failure that `retries` pays for, run_job() does not try again here but returns 75.
  bool retries_elsewhere = false;
};

// The job with the largest of its process_counts for which so many machines suffice, else with the
// smallest.
TRIVET_API Job for_nodes(Job job, std::int64_t nodes);
// The job with the starter in front of its words.
TRIVET_API Job with_starter(Job job, const JobArray& array);

// Runs a job of a unit in this process. Returns the exit code to end with:
//
//   0     it has completed, now or before
//   75    it is to be started again: preempted, out of time, or failed and retried elsewhere
//   143   it was cancelled
//   other it has failed for good: the job's exit code, 128 + signal, 124 for its time limit
//
// An attempt that was lost does not count as a failure: that it is started again says that its
// machine was. Throws RunError when an attempt runs already, or the records cannot be written.
TRIVET_API int run_job(UnitRecords& records, std::int64_t wid, const Job& job,
                       const JobRunOptions& options);

// The options for a task of an array in this process's environment, with SIGTERM for "preempted"
// and SIGUSR1 for "out of time".
TRIVET_API AttemptOptions attempt_options(const JobArray& array);

}  // namespace trivet::launch
