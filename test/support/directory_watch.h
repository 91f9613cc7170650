// SPDX-License-Identifier: Apache-2.0
// Waits for changes that a process makes in a directory, instead of polling.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trivet::test {

// Reports files that are created, written, renamed or removed in a directory and in its present and
// future subdirectories. Events in a new subdirectory may be missed at first, so use this only to
// decide when to check the files.
class DirectoryWatch {
 public:
  // Reports events from now on. Throws std::runtime_error if the system cannot watch.
  explicit DirectoryWatch(const std::filesystem::path& directory);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // Blocks until something happens; true then, with the file's path in `path` if it is not null.
  // False when there is nothing more to read and `end`, the reading end of a pipe, has lost its
  // last writer (-1: nothing ends the wait).
  bool wait(int end = -1, std::filesystem::path* path = nullptr);

 private:
  void add(const std::filesystem::path& directory);
  void read_events();

  int fd_;
  std::map<int, std::filesystem::path> watched_;
  std::vector<std::filesystem::path> pending_;  // newest first
};

}  // namespace trivet::test
