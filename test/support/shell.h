// SPDX-License-Identifier: Apache-2.0
// Runs a command as a user would type it, for tests of programs and of the installed tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

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
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // Writes a file, making folders on the way; returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// All bytes of a file; throws when it cannot be read.
std::string read_file(const std::filesystem::path& file);

}  // namespace trivet::test
