// SPDX-License-Identifier: Apache-2.0
// StatusFile: status.json, the current state of a run, for users and other programs:
//
//   {"state": "running", "step": 1200, "target": 4690, "mode": "train_and_eval", "attempt": 1,
//    "time": 1763690431.25, "started": ..., "pid": 1234, "host": "...", "boot_id": "...",
//    "message": ""}
//
// The file is replaced atomically at every change of state and every few seconds in between (the
// heartbeat). A run with an old `time` on a machine that is up hangs or is gone. `attempt` counts
// the processes of this run.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace trivet {

class StatusFile {
 public:
  // Reads the file of the last attempt. Writes nothing yet.
  StatusFile(std::filesystem::path path, std::string mode, std::int64_t target);
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // Writes the file. States: starting, running, saving, evaluating; at the end done, failed,
  // interrupted (SIGINT), preempted (SIGTERM). Throws RunError on failure.
  void set_state(std::string_view state, std::string_view message = {});
  void set_step(std::int64_t step);  // used by the next heartbeat
  // For a rejected process, before the heartbeat starts: restores the file of the last attempt.
  // Returns false if there was none.
  bool put_back();

  // Starts a thread that rewrites the file every `seconds`. It ends with this object.
  void start_heartbeat(double seconds = 5);
  // Returns once the reason why a heartbeat could not be written. Empty otherwise.
  std::string take_heartbeat_error();

  std::int64_t attempt() const { return attempt_; }

 private:
  void beat(double seconds);
  void write();  // mutex_ must be held

  const std::filesystem::path path_;
  const std::string mode_;
  const std::int64_t target_;
  const double started_;
  const std::string before_;  // the text of the file; empty if there is none
  std::int64_t attempt_ = 1;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string state_ = "starting", message_;
  std::int64_t step_ = 0;
  std::string heartbeat_error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trivet
