// SPDX-License-Identifier: Apache-2.0
// Runs a command as a user would type it, for tests of programs and of the installed tree.
#pragma once

#include <filesystem>
#include <string>

namespace trivet::test {

struct ShellResult {
  int exit_code = -1;  // 128 + N when signal N ended it, as a shell reports it
  std::string output;  // standard output and standard error as they came
};

// Runs `command` with /bin/sh and waits for its end.
ShellResult shell(const std::string& command);

// The text as one word for the shell, whatever it holds.
std::string quoted(const std::string& text);

// A fresh folder, removed with all it holds at the end of its life.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace trivet::test
