// SPDX-License-Identifier: Apache-2.0
#include "processes/own_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderPrefix = "trivet-follower";

fs::path folder() {
  const char* const wanted = std::getenv("TMPDIR");
  return wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
}

// None for what is no directory, is another user's or is just being removed.
UniqueFd open_directory(const fs::path& path) {
  try {
    return open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (const RunError&) {
    return {};
  }
}

// Whether it is this user's, and not removed.
bool is_own(const UniqueFd& directory) {
  struct stat info {};
  return ::fstat(directory.get(), &info) == 0 && info.st_uid == ::geteuid() && info.st_nlink > 0;
}

}  // namespace

OwnDirectory::OwnDirectory(int rank) {
  remove_left_directories();
  // Another process may take the new directory for one that is left, until it is locked.
  constexpr int kTries = 10;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::string pattern = (folder() / fmt::format("{}{}-XXXXXX", kFolderPrefix, rank)).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw_system_error("make a directory in", folder(), errno);
    }
    path_ = pattern;
    lock_ = open_directory(path_);
    if (!lock_) continue;
    lock_file(lock_, path_);
    if (is_own(lock_)) return;
  }
  throw RunError("cannot keep a directory in " + folder().string(),
                 {.hint = "set TMPDIR to another directory"});
}

OwnDirectory::~OwnDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void remove_left_directories() {
  std::error_code error;
  for (fs::directory_iterator entry(folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kFolderPrefix)) continue;
    const UniqueFd directory = open_directory(entry->path());
    if (!directory || !is_own(directory)) continue;
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace trivet
