// SPDX-License-Identifier: Apache-2.0
// Slurm's commands, and what they answer.
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

// A task of an array, as squeue tells of it.
struct QueueEntry {
  std::string state;   // "PENDING", "RUNNING", "CANCELLED", ...
  std::string reason;  // why it is pending: "Priority", "Dependency", ...
  std::string host;

  bool is_pending() const { return state == "PENDING"; }
  // Slurm could not start it on its node, and holds it until somebody releases it.
  bool has_failed_to_start() const;
  // Whether Slurm still does something with it. States that nobody here knows count.
  bool is_active() const;
};

// The user's jobs, those included that ended a while ago.
class Queue {
 public:
  // Of lines of Commands::kQueueFormat. Throws RunError for anything else.
  static Queue parse(const std::string& text);

  // Null for a task that Slurm does not know, or no longer.
  const QueueEntry* find(const std::string& job_id, std::int64_t task) const;
  // The id of the array with this name; empty if there is none.
  std::string job_id_of(const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::int64_t>, QueueEntry> entries_;
  std::map<std::string, std::string> ids_;
};

// Every function throws RunError, with what Slurm said and what to do, when the command cannot be
// started, fails, or does not answer in time.
class Commands {
 public:
  // Array's id, task, state, reason, nodes, name: the last, since it may hold anything.
  static constexpr std::string_view kQueueFormat = "%F|%K|%T|%r|%N|%j";

  explicit Commands(double timeout_seconds) : timeout_(timeout_seconds) {}

  // Hands a script over; returns the job's id.
  std::string submit(std::vector<std::string> arguments, const std::string& script);
  // Whether Slurm would take a job with these arguments; what is wrong with it when not.
  std::optional<std::string> refusal(std::vector<std::string> arguments);
  Queue queue();
  // The largest number of a task is one less.
  std::int64_t max_array_size();
  // False when no controller answers: asked for first, it spares the long time that others take to
  // find out.
  bool is_up();
  void require_up();

  // Of tasks like "12_3". Those that have ended meanwhile are no error.
  void cancel(const std::vector<std::string>& tasks);
  // SIGTERM to the scripts alone.
  void terminate(const std::vector<std::string>& tasks);

 private:
  ProgramResult run(const std::vector<std::string>& argv, const ProgramOptions& options = {}) const;
  std::string answer(const std::vector<std::string>& argv) const;
  void scancel(const std::vector<std::string>& options, const std::vector<std::string>& tasks);
  bool is_any_active(const std::vector<std::string>& tasks);

  double timeout_;
};

}  // namespace trivet::slurm
