// SPDX-License-Identifier: Apache-2.0
// CheckpointWatch: follows the checkpoints of another process's run. Takes no lock and changes
// nothing in the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "checkpoint/checkpoint_manager.h"

namespace trivet {

class CheckpointWatch {
 public:
  enum class Found {
    checkpoint,  // the newest one after `after`
    finished,    // there is none, and status.json says that the writer is done
    timeout,     // there was none within the time limit
    stopped,     // this process got a stop request
  };
  struct Parts {
    std::function<bool()> must_stop;
    std::function<void(const std::string&)> say, warn;
  };

  // `run` is a run's directory, or one that contains step_NUMBER directories. It may not exist yet.
  CheckpointWatch(std::filesystem::path run, double timeout, Parts parts);

  // Waits for a checkpoint of a later step and prints what it waits for and until when. Steps
  // between the last one and the newest are skipped.
  Found wait_for(std::int64_t after);

  // Step of the checkpoint that `wait_for` found.
  std::int64_t step() const { return step_; }
  // Imports it into `checkpoints`. Returns false if it was removed before it could be linked, or is
  // damaged: then it is skipped from now on, with a warning. Throws RunError if it cannot be
  // imported for another reason, such as a full disk.
  bool take(CheckpointManager& checkpoints);

  // The state in the writer's status.json. Empty if there is none.
  std::string writer_state() const;

 private:
  std::filesystem::path checkpoints() const;
  std::filesystem::path path() const;
  bool exists() const;
  std::optional<std::int64_t> newest_after(std::int64_t after) const;
  void announce(std::int64_t after) const;

  std::filesystem::path run_;
  double timeout_;
  Parts parts_;
  std::int64_t step_ = -1;
  std::set<std::int64_t> passed_over_;
};

}  // namespace trivet
