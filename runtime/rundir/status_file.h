// SPDX-License-Identifier: Apache-2.0
// StatusFile: status.json, what a run is doing, for people and programs outside:
//
//   {"state": "running", "step": 1200, "target": 4690, "mode": "train_and_eval", "attempt": 1,
//    "time": 1763690431.25, "started": ..., "pid": 1234, "host": "...", "boot_id": "...",
//    "message": ""}
//
// It is replaced whole at every change of state and every few seconds between (the heartbeat), so a
// run whose `time` is old, on a machine that is up, hangs or is gone. `attempt` counts the
// processes that worked on this run.
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
  // Reads what the last attempt has left; writes nothing yet.
  StatusFile(std::filesystem::path path, std::string mode, std::int64_t target);
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // Writes the file. States: starting, running, saving, evaluating; at the end done, failed,
  // interrupted (SIGINT), preempted (SIGTERM). Throws RunError when it cannot.
  void set_state(std::string_view state, std::string_view message = {});
  void set_step(std::int64_t step);  // seen by the next heartbeat
  // Before the heartbeat, of a process that was refused: what the last attempt has left stands
  // there again. False when there was none.
  bool put_back();

  // The thread that repeats the file every `seconds`; ends with this object.
  void start_heartbeat(double seconds = 5);
  // The reason when a heartbeat could not be written, once; empty otherwise.
  std::string take_heartbeat_error();

  std::int64_t attempt() const { return attempt_; }

 private:
  void beat(double seconds);
  void write();  // mutex_ held

  const std::filesystem::path path_;
  const std::string mode_;
  const std::int64_t target_;
  const double started_;
  const std::string before_;  // the text of the file; empty when there is none
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
