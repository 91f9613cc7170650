// SPDX-License-Identifier: Apache-2.0
// A folder that a command fills. It is removed if the command fails.
#pragma once

#include <filesystem>
#include <string>

namespace trivet::lm {

class NewFolder {
 public:
  // Throws UsageError if the path exists and is not an empty folder, RunError if the folder cannot
  // be made.
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool was_there_ = false, kept_ = false;
};

}  // namespace trivet::lm
