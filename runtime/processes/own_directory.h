// SPDX-License-Identifier: Apache-2.0
// Directories of processes other than the first one of a run, in TMPDIR or /tmp.
#pragma once

#include <filesystem>

#include "trivet/os/file.h"

namespace trivet {

// Where this process writes what rank 0 writes into the run's directory. Removed at the end.
// Outside of the run's directory, which a task would make again after rank 0 has refused and
// removed it.
class OwnDirectory {
 public:
  // Removes what killed processes have left. Throws RunError.
  explicit OwnDirectory(int rank);
  ~OwnDirectory();
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd lock_;  // held while this process lives
};

// Removes the directories of this user's processes that have been killed.
void remove_left_directories();

}  // namespace trivet
