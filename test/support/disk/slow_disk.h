// SPDX-License-Identifier: Apache-2.0
// Disk faults for a started program, by support/disk/slow_files.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trivet::test {

struct SlowDisk {
  // Applies to paths with this prefix: a directory, or one file; absolute, may be created later.
  std::filesystem::path below;
  std::uint64_t seed = 0;
  std::uint64_t delay = 0;       // maximum microseconds per call
  std::uint64_t fails = 0;       // one in so many calls fails; 0: none
  std::int64_t room = -1;        // bytes until the disk is full; -1: no end
  std::uint64_t kill = 0;        // number of the call, openings included, that kills; 0: none
  int read_error = 0;            // errno with which openings for reading fail; 0: none
  std::uint64_t read_fails = 0;  // the number of such failures

  // "NAME=value" of each, for the environment of the program.
  std::vector<std::string> environment() const;
  // The same in front of a command of the shell.
  std::string prefix() const;
};

}  // namespace trivet::test
