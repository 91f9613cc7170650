// SPDX-License-Identifier: Apache-2.0
// Runs Slurm's commands and parses their output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/os/subprocess.h"

namespace trivet::slurm {

// A task of an array, as squeue lists it.
struct QueueEntry {
  std::string state;   // "PENDING", "RUNNING", "CANCELLED", ...
  std::string reason;  // of a pending task: "Priority", "Dependency", ...
  std::string host;

  bool is_pending() const { return state == "PENDING"; }
  // Whether Slurm failed to start it on its node and holds it until it is released.
  bool has_failed_to_start() const;
  // Whether Slurm still works on it. Unknown states count as active.
  bool is_active() const;
};

// The user's jobs, including recently ended ones.
class Queue {
 public:
  // Parses lines of Commands::kQueueFormat. Throws RunError for anything else.
  static Queue parse(const std::string& text);

  // Returns null for a task that Slurm does not know (any more).
  const QueueEntry* find(const std::string& job_id, std::int64_t task) const;
  // Returns the id of the array with this name; empty if there is none.
  std::string job_id_of(const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::int64_t>, QueueEntry> entries_;
  std::map<std::string, std::string> ids_;
};

// Every function throws RunError, with Slurm's output and a hint, if the command cannot be started,
// fails, or does not answer in time.
class Commands {
 public:
  // The array's id, task, state, reason, nodes, name. The name is last, since it may contain any
  // text.
  static constexpr std::string_view kQueueFormat = "%F|%K|%T|%r|%N|%j";

  explicit Commands(double timeout_seconds) : timeout_(timeout_seconds) {}

  // Submits a script; returns the job's id.
  std::string submit(std::vector<std::string> arguments, const std::string& script);
  // Returns why Slurm would refuse a job with these arguments, or nothing if it would accept it.
  std::optional<std::string> refusal(std::vector<std::string> arguments);
  Queue queue();
  // The largest task number is one less.
  std::int64_t max_array_size();
  // False if no controller answers. Asking first avoids the long timeouts of the other commands.
  bool is_up();
  void require_up();

  // Cancels tasks like "12_3". A task that has ended in the meantime is not an error.
  void cancel(const std::vector<std::string>& tasks);
  // Lets held tasks start. A task that is not held (any more) is not an error.
  void release(const std::vector<std::string>& tasks);
  // Sends SIGTERM to the scripts only.
  void terminate(const std::vector<std::string>& tasks);

 private:
  ProgramResult run(const std::vector<std::string>& argv, const ProgramOptions& options = {}) const;
  std::string answer(const std::vector<std::string>& argv) const;
  void scancel(const std::vector<std::string>& options, const std::vector<std::string>& tasks);
  bool is_any_active(const std::vector<std::string>& tasks);

  double timeout_;
};

}  // namespace trivet::slurm
