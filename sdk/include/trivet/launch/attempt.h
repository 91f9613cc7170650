// SPDX-License-Identifier: Apache-2.0
// Attempt: one start of a job's process, in a directory of its own:
//
//   WU_DIR/jobs/NAME/2/
//     lock           held (fcntl, F_OFD_SETLK) as long as somebody looks after the process
//     stdout stderr  appended to by the job
//     started.json   {"pid", "start_ticks", "shim", "shim_ticks", "boot_id", "host",
//                    "processes", "time"}: just before the program
//     end.json       {"reason", "grace_seconds"}: somebody wants it to end
//     done           made by the job, where Job::tells_done: it has done its work. A text in it
//                    says why it has done so before the end that was planned
//     exit.json      {"exit_code" or "signal", "reason", "time", "host"}: it has ended
//
// All are for the owner only, and so is what the job makes, unless it is shared.
//
// Each is written whole or not at all, so whoever looks later, also after a crash, can tell:
// exit.json says how it ended; without it a held lock means it runs; without both it was lost, or,
// without started.json, never ran. None is forced to the disk: after a power cut an attempt whose
// exit.json is missing or damaged was lost, as were the last writes of the job itself.
//
// A shim, a process between the orchestrator and the job's, starts the job in a session of its own,
// ends it when its time is up, and writes the files. It continues when the orchestrator has ended.
// When the job's first process has ended, all that it has left behind is killed, whatever session
// it has moved to; exit.json is written after that. The job dies with its shim.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/error.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"

namespace trivet::launch {

// Exit codes with a meaning (trivet's own, and what `retries` asks for).
inline constexpr int kExitConfigError = 2;  // never retried
inline constexpr int kExitPluginError = 3;  // never retried
inline constexpr int kExitPreempted = 75;   // always started again

// Names the file "done" of the attempt to a job with Job::tells_done. A plugin or a library that
// calls exit(0), _exit(0) or exec ends the process with an exit code of 0, too.
inline constexpr const char* kDoneFileVariable = "TRIVET_DONE_FILE";

// A start that failed for want of something that may come back.
class TRIVET_API RetryError : public RunError {
 public:
  using RunError::RunError;
  RetryError(const RetryError&);
  ~RetryError() override;
};

// Reasons in exit.json that decide what becomes of the job, whatever its exit code.
inline constexpr std::string_view kReasonCancelled = "cancelled";
inline constexpr std::string_view kReasonPreempted = "preempted";
inline constexpr std::string_view kReasonTimeLimit = "time limit";  // the job's own: failed
// How the reason begins when the job took more memory than it may: failed; the limit follows.
inline constexpr std::string_view kReasonMemoryLimit = "memory limit";
// It has ended with exit code 0 and has not made the file that says that it is done: failed.
inline constexpr std::string_view kReasonNotDone =
    "it ended with exit code 0 before it was done: a plugin or a library that it loads has called "
    "exit, _exit or exec";
// The time that a cluster gives was up: preempted when the job says so (75), or got the signal in
// its first second and could not listen yet; else failed.
inline constexpr std::string_view kReasonOutOfTime = "out of time";

// How the reason begins when the job has completed before its planned end; its own words follow.
inline constexpr std::string_view kReasonEndedEarly = "ended early: ";

enum class AttemptPhase { fresh, running, ended, lost };
TRIVET_ENUM(AttemptPhase, fresh, running, ended, lost)

struct AttemptInfo {
  AttemptPhase phase = AttemptPhase::fresh;
  JobStatus status;   // its state, exit code, times and host; `failures` is the caller's to know
  pid_t shim = 0;     // while it runs on this machine, else 0
  pid_t process = 0;  // leader of the job's process group, likewise
  // Job::processes of the job that was started; 0: it was not, or an older trivet started it.
  std::int64_t processes = 0;
};

struct AttemptOptions {
  double grace_seconds = 30;  // from end_signal to SIGKILL when its time is up
  // What asks the job to end: SIGTERM goes to all of its processes, any other to the first one,
  // such as srun, which hands it on to its tasks.
  int end_signal = SIGTERM;
  std::vector<int> cpus{};  // numbers of the cores it runs on; empty: all that the caller may use
  // A cgroup in which one is made for the job with Job::memory_bytes as its limit
  // (memory_cgroup.h); empty, or a job without one: no limit. A job never fails because a cgroup
  // cannot be made: it runs without, and its stderr says so.
  std::filesystem::path cgroup_parent{};
  // Variables that only the executing host knows, such as CUDA_VISIBLE_DEVICES. Job::env overrides
  // them.
  std::vector<std::pair<std::string, std::string>> env{};
  // For run_attempt: signals with which the cluster announces that it will end the job, and the
  // `reason` to write to exit.json for each, such as {SIGTERM, "preempted"}. The job then gets
  // end_signal, and SIGKILL when grace_seconds are over. Signals that are not listed are passed on
  // as they are.
  std::vector<std::pair<int, std::string>> end_signals{};
};

// What the files of an attempt say. Throws RunError for files that cannot be read.
TRIVET_API AttemptInfo read_attempt(const Job& job, std::int64_t attempt);
// The newest attempt there is a directory for; 0: none.
TRIVET_API std::int64_t last_attempt(const Job& job);

// Starts an attempt under a shim, which is a child of the caller; returns the shim's process
// id. The caller must have one thread only. Throws RunError when it cannot (the directory is there
// and was used, it cannot be written), RetryError when that may be otherwise in a while (no more
// processes, disk full). A program that cannot be started is an attempt that has failed, with exit
// code 127 and the reason in exit.json and stderr.
TRIVET_API pid_t start_attempt(const Job& job, std::int64_t attempt,
                               const AttemptOptions& options = {});

// The same in this process, for the script of a cluster's job: returns the exit code to end with
// (128 + signal). SIGTERM and SIGINT are passed on to all of the job's processes, SIGUSR1, SIGUSR2
// and SIGHUP to its first one. While it runs, this process is the subreaper for the job's orphans,
// so it reaps all children.
TRIVET_API int run_attempt(const Job& job, std::int64_t attempt,
                           const AttemptOptions& options = {});

// AttemptOptions::end_signal to the job, SIGKILL after `grace_seconds`, by the shim; exit.json gets
// `reason`, for instance kReasonCancelled. Does nothing for an attempt that does not run here; when
// called again, a shorter grace counts. Throws RunError when the shim cannot be reached.
TRIVET_API void end_attempt(const Job& job, std::int64_t attempt, std::string_view reason,
                            double grace_seconds);

// The status of a job after an attempt that has ended: completed, failed, cancelled, lost, or
// preempted or pending when it is to be started again. `before` is the job's status so far,
// `attempt` that of read_attempt().
TRIVET_API JobStatus after_attempt(const Job& job, const JobStatus& before,
                                   const JobStatus& attempt);

// What the directories of attempts say of a job and the records do not yet: its last attempt has
// ended, was lost, or runs. Nothing when the records are up to date.
TRIVET_API std::optional<JobStatus> unrecorded_status(const Job& job, const JobStatus& recorded);

// A job that ends at once, in less than ten seconds, is not started again at once: 0.1 s, 0.2 s,
// 0.4 s, ... a minute after so many short attempts in a row.
TRIVET_API bool was_short(const JobStatus& attempt);
TRIVET_API double pause_after(int short_runs);

}  // namespace trivet::launch
