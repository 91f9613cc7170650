// SPDX-License-Identifier: Apache-2.0
// Checks whether a file may be loaded as code: only its owner (root or this user) can change or
// replace it.
#pragma once

#include <filesystem>
#include <string>

#include "trivet/os/file.h"

namespace trivet {

// Identifies the state of a file.
struct FileIdentity {
  unsigned long long device = 0, inode = 0, size = 0;
  long long modified_seconds = 0, modified_nanoseconds = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct CheckedFile {
  UniqueFd descriptor;
  FileIdentity identity;
  std::string error;  // why it is refused; then the other members are empty
};

// Opens a file for reading if it is a regular file, belongs to root or this user, is not writable
// by group or others, and neither is its folder; no folder above may be writable by all (unless it
// is sticky, as /tmp). Follows symbolic links first. Never blocks.
CheckedFile open_checked(const std::filesystem::path& file);

// The same for a search folder. Empty if it is safe.
std::string directory_objection(const std::filesystem::path& directory);

// The current state of a file. All zero if it does not exist.
FileIdentity identity_of(const std::filesystem::path& file) noexcept;

}  // namespace trivet
