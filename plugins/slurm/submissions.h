// SPDX-License-Identifier: Apache-2.0
// Submissions: records of what was submitted to Slurm, in the experiment's directory:
//
//   slurm/lock            locked (flock) during submitting and canceling
//   slurm/1/array.json    the tasks (trivet/launch/job_array.h); also "name", "user", "attempts"
//   slurm/1/sbatch.sh     the script
//   slurm/1/job_id        the answer of sbatch
//   slurm/1/0.log         output of the script of task 0: empty if it succeeded
//
// The name of a job at Slurm is unique. So a submission without a job_id is found again in the
// queue, or it is void: its array.json is renamed, and a task that starts anyway does nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trivet/launch/job_array.h"
#include "trivet/os/file.h"

namespace trivet::slurm {

struct Submission {
  std::filesystem::path directory;
  std::string name;
  std::string job_id;                  // empty: unknown
  std::int64_t user = 0;               // who submitted it
  launch::JobArray array;              // wid 0: the task is not part of it
  std::vector<std::int64_t> attempts;  // each job's last attempt at submission

  std::filesystem::path array_file() const { return directory / "array.json"; }
  std::filesystem::path script_file() const { return directory / "sbatch.sh"; }
  std::filesystem::path log(std::int64_t task) const;
  // The times at which Slurm was asked to release a held task, one a line.
  std::filesystem::path releases_file(std::int64_t task) const;
};

struct TaskLocation {
  const Submission* submission = nullptr;
  std::int64_t task = 0;

  std::string id() const;  // "12_3"
};

class Submissions {
 public:
  // Reads all submissions. Throws RunError for unreadable or invalid files.
  explicit Submissions(const std::filesystem::path& experiment);

  bool empty() const { return all_.empty(); }
  // Writes the files of a new submission, except job_id, to the disk; sets its directory and name.
  // `script_for` makes the script that runs the tasks of an array's file. The lock must be held.
  using ScriptFor = std::function<std::string(const std::filesystem::path& array_file)>;
  Submission& create(Submission submission, const ScriptFor& script_for);
  void set_job_id(Submission& submission, const std::string& job_id);
  // Voids a submission without a job_id that Slurm does not have. The lock must be held.
  void make_void(Submission& submission);

  std::deque<Submission>& all() { return all_; }
  // Returns the last submission of a unit's job.
  std::optional<TaskLocation> find(std::int64_t wid, const std::string& job) const;

 private:
  void enter(const Submission& submission);

  std::filesystem::path directory_;
  std::deque<Submission> all_;
  std::int64_t last_ = 0;
  std::map<std::pair<std::int64_t, std::string>, TaskLocation> locations_;
};

// Waits for the experiment's lock on submitting and canceling, and holds it during its lifetime.
class SubmitLock {
 public:
  explicit SubmitLock(const std::filesystem::path& experiment);

 private:
  UniqueFd lock_;
};

}  // namespace trivet::slurm
