// SPDX-License-Identifier: Apache-2.0
// A folder that a command fills, or that is not there when it fails.
#pragma once

#include <filesystem>
#include <string>

namespace trivet::lm {

class NewFolder {
 public:
  // Throws UsageError where there is something already, but for an empty folder; RunError where it
  // cannot be made.
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
