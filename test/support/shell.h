// SPDX-License-Identifier: Apache-2.0
// Runs a command as a user would type it, for tests of programs and of the installed tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace trivet::test {

struct ShellResult {
  int exit_code = -1;  // 128 + N if signal N ended it, as in a shell
  std::string output;  // standard output and standard error as they came
};

// Runs `command` with /bin/sh and waits for its end.
ShellResult shell(const std::string& command);

// Quotes any text as one word for the shell.
std::string quoted(const std::string& text);

// A new folder, removed with its contents by the destructor.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // Writes a file and creates its folders; returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// Returns all bytes of a file; throws if it cannot be read.
std::string read_file(const std::filesystem::path& file);

// "cmdline" or "environ" of a process; empty if it has ended, also during the read.
std::string read_process_file(const std::filesystem::path& process, const char* name);

}  // namespace trivet::test
