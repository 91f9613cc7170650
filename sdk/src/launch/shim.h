// SPDX-License-Identifier: Apache-2.0
// Shim: looks after the process of one attempt until nothing of it is left.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "launch/attempt_files.h"
#include "launch/job_process.h"
#include "trivet/launch/memory_cgroup.h"

namespace trivet::launch {

class Shim {
 public:
  // All signals must be blocked, and stay so while it runs.
  Shim(const Job& job, std::int64_t attempt, const AttemptOptions& options, const JobFiles& files);

  // Starts the job, ends it when that is asked for, and writes exit.json. Throws RetryError when
  // there can be no process for it; then nothing has happened.
  EndRecord run();

 private:
  using Clock = std::chrono::steady_clock;

  void make_cgroup();
  void go_without_cgroup(const std::string& why);
  // The reason for the end when the job took more than it may.
  std::optional<std::string> memory_limit_hit() const;
  void watch();
  void hear_late_announcement();
  void on_signal(const siginfo_t& signal);
  void on_time();
  void look_for_request();
  // Begins the end when the signal announces it; false for any other.
  bool is_announced(int signal);
  void begin_end(const std::string& reason, double grace_seconds);
  bool has_ended();
  void kill_rest();
  void take_status(int status);
  // Exit code 0 of a job that tells when it is done, and has not told.
  void require_done();
  void tell_failure(const std::string& why);
  void say(const std::string& what);
  void write();
  std::optional<Clock::duration> time_left() const;

  const Job& job_;
  std::filesystem::path directory_;
  const AttemptOptions& options_;
  JobFiles files_;
  pid_t process_ = 0;
  std::optional<Clock::time_point> time_limit_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<MemoryCgroup> cgroup_;
  EndRecord end_;
};

}  // namespace trivet::launch
