// SPDX-License-Identifier: Apache-2.0
// What is wrong with the disk that a started program sees, by support/slow_files.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trivet::test {

struct SlowDisk {
  // For the files whose paths begin so: a directory, or the name of one file; absolute, may be made
  // later.
  std::filesystem::path below;
  std::uint64_t seed = 0;
  std::uint64_t delay = 0;  // microseconds that a call takes at most
  std::uint64_t fails = 0;  // one call of so many fails; 0: none
  std::int64_t room = -1;   // bytes until the disk is full; -1: no end
  std::uint64_t kill = 0;   // the so-many-th call to them, opening included, kills; 0: none does
  int read_error = 0;       // the errno with which openings for reading fail; 0: none does
  std::uint64_t read_fails = 0;  // so many of them, the first ones

  // "NAME=value" of each, for the environment of the program.
  std::vector<std::string> environment() const;
  // The same in front of a command of the shell.
  std::string prefix() const;
};

}  // namespace trivet::test
