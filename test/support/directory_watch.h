// SPDX-License-Identifier: Apache-2.0
// Waits for what a process does to the files of a directory, instead of looking again and again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trivet::test {

// Reports files made, written, renamed and removed in a directory, and in the directories below it
// that are there or made later. A directory made later is seen from a moment after its making on:
// events inside it may be missed, so ask the files for facts and this only when to ask.
class DirectoryWatch {
 public:
  // Events from here on are reported. Throws std::runtime_error when the system cannot watch.
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
