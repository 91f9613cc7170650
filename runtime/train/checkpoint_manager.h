// SPDX-License-Identifier: Apache-2.0
// CheckpointManager: owns the directory `checkpoints/` of a run.
//
// A checkpoint is made in a temporary directory, everything in it is put on the disk, and a rename
// gives it its name, step_00001000. So at every instant, also when the process is killed or the
// machine loses power, the directories with such names are whole. Old ones get another name before
// they are removed, for the same reason. Leftovers of a killed process are removed by the next one.
//
// The caller holds the run directory's lock: one process at a time. [run thread]
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "train/checkpoint_directory.h"

namespace trivet {

struct SavedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

class CheckpointManager {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Fill = std::function<void(CheckpointWriter&)>;

  // `max_to_keep` 0 keeps all. The directory is made by the first save.
  CheckpointManager(std::filesystem::path directory, std::int64_t max_to_keep, Warn warn);

  // The newest whole checkpoint; null when there is none at all. Damaged ones are passed over with
  // a warning that names the reason; RunError when nothing but damaged ones is left.
  std::unique_ptr<CheckpointDirectoryReader> newest();

  // Saves what `fill` writes, then removes what `max_to_keep` does not cover. Nothing when the last
  // save or restore was of this very step. When it fails it throws RunError, and the checkpoints
  // there were are still there.
  std::optional<SavedCheckpoint> save(std::int64_t step, const Fill& fill);

  // Steps with a checkpoint, ascending, whole or not.
  std::vector<std::int64_t> steps() const;
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  void remove_leftovers();
  void publish(const std::filesystem::path& temporary, std::int64_t step);
  void prune();
  void discard(const std::filesystem::path& path);

  std::filesystem::path directory_;
  std::int64_t max_to_keep_;
  Warn warn_;
  std::optional<std::int64_t> current_;  // step of the last save or restore
  std::set<std::int64_t> damaged_;
};

}  // namespace trivet
