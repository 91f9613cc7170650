// SPDX-License-Identifier: Apache-2.0
//
// Whether a file may be loaded as code: nobody but its owner (root or this user) may be able to
// change it or put another instead.
#pragma once

#include <filesystem>
#include <string>

#include "trivet/os/file.h"

namespace trivet {

// Tells one state of a file from any other.
struct FileIdentity {
  unsigned long long device = 0, inode = 0, size = 0;
  long long modified_seconds = 0, modified_nanoseconds = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct CheckedFile {
  UniqueFd descriptor;
  FileIdentity identity;
  std::string error;  // why it is refused; then the rest is empty
};

// Opens a file for reading if it is a regular file, belongs to root or this user, is not writable
// by group or others, and neither is its folder; no folder above may be writable by all (unless it
// is sticky, as /tmp). Symbolic links are followed first. Never blocks.
CheckedFile open_checked(const std::filesystem::path& file);

// The same for a folder that is searched; empty if it is fine.
std::string directory_objection(const std::filesystem::path& directory);

// What a file is now; all zero if it is gone.
FileIdentity identity_of(const std::filesystem::path& file) noexcept;

}  // namespace trivet
