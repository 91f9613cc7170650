// SPDX-License-Identifier: Apache-2.0
// CheckpointWatch: the checkpoints of a run that another process works on, seen from outside. Takes
// no lock and changes nothing there.
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
    finished,    // there is none, and the writer's status.json says that it is done
    timeout,     // there was none for that long
    stopped,     // this process was asked to stop
  };
  struct Parts {
    std::function<bool()> must_stop;
    std::function<void(const std::string&)> say, warn;
  };

  // `run` is a run's directory, or one that holds step_NUMBER directories itself. It need not exist
  // yet.
  CheckpointWatch(std::filesystem::path run, double timeout, Parts parts);

  // Waits for a checkpoint of a later step and says what it waits for and until when. Steps between
  // the last one and the newest are passed over.
  Found wait_for(std::int64_t after);

  // Step of the checkpoint that `wait_for` found.
  std::int64_t step() const { return step_; }
  // Takes it over into `checkpoints`. False when it was gone before it could be held, or is
  // damaged: then it is passed over from now on, with a warning. Throws RunError when it cannot be
  // held for another reason, such as a full disk.
  bool take(CheckpointManager& checkpoints);

  // What the writer's status.json says, "" where there is none.
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
