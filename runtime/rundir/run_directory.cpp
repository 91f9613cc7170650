// SPDX-License-Identifier: Apache-2.0
#include "rundir/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "base/process_info.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr const char* kLockFile = ".lock";
// The temporary file of replace_file; a kill leaves NAME.tmp.
constexpr const char* kReplaced[] = {"config.toml",   "metrics.jsonl", "samples.jsonl",
                                     "status.json",   "summary.json",  "communication.json",
                                     "best/best.json"};

// N of "N-NAME", or of "N" if runs have no names. 0 for other names.
std::int64_t run_number(const std::string& name, bool named) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool at_end = end == name.data() + name.size();
  const bool is_run = failure == std::errc() && (named ? !at_end && *end == '-' : at_end);
  return is_run ? number : 0;
}

std::string directory_name(std::string_view name) {
  std::string clean(name.empty() ? "run" : name.substr(0, 100));
  for (char& c : clean) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '-';
  }
  return clean;
}

// The missing parent folders, the nearest first.
std::vector<std::filesystem::path> missing_above(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> missing;
  std::error_code failure;
  std::filesystem::path folder = std::filesystem::absolute(path, failure).parent_path();
  while (!failure && folder.has_relative_path() && !std::filesystem::exists(folder, failure)) {
    missing.push_back(folder);
    folder = folder.parent_path();
  }
  return missing;
}

constexpr int kRemovals = 100;

// A rejected run removes its empty folders, maybe while another run creates its own in them.
template <typename Make>
auto with_folders(const Make& make) {
  for (int attempt = 1; attempt < 10; ++attempt) {
    try {
      return make();
    } catch (const FileError& failure) {
      if (failure.number() != ENOENT) throw;
    }
  }
  return make();
}

std::int64_t highest_run_number(const std::filesystem::path& root, bool named) {
  std::int64_t highest = 0;
  std::error_code failure;
  std::filesystem::directory_iterator entry(root, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    highest = std::max(highest, run_number(entry->path().filename().string(), named));
  }
  if (failure) throw_system_error("read", root, failure.value());
  return highest;
}

}  // namespace

RunDirectory::RunDirectory(std::filesystem::path path, Found found,
                           std::vector<std::filesystem::path> made_above)
    : shown_(std::move(path)), made_above_(std::move(made_above)), made_(found == Found::made) {
  std::error_code failure;
  path_ = std::filesystem::absolute(shown_, failure);
  if (failure) path_ = shown_;  // the working directory was removed
  lock();
  remove_leftovers();
}

RunDirectory RunDirectory::at(std::filesystem::path path) {
  std::error_code failure;
  const bool there = std::filesystem::exists(path, failure);
  if (there && !std::filesystem::is_directory(path, failure)) {
    throw RunError(path.string() + " is not a directory");
  }
  std::vector<std::filesystem::path> missing = missing_above(path);
  with_folders([&] { make_directories(path); });
  return RunDirectory(std::move(path), there ? Found::there : Found::made, std::move(missing));
}

RunDirectory RunDirectory::next(const std::filesystem::path& root, std::string_view name) {
  return next_after(root, "-" + directory_name(name));
}

RunDirectory RunDirectory::next_number(const std::filesystem::path& root) {
  return next_after(root, "");
}

// `behind`: the suffix after the number.
RunDirectory RunDirectory::next_after(const std::filesystem::path& root, std::string_view behind) {
  std::vector<std::filesystem::path> missing = missing_above(root / "1");
  return with_folders([&] {
    make_directories(root);
    // Held while the number is assigned; released with the handle.
    const UniqueFd turn = open_file(root, O_RDONLY | O_DIRECTORY);
    lock_file(turn, root);
    const std::int64_t number = highest_run_number(root, !behind.empty()) + 1;
    const std::filesystem::path path = root / fmt::format("{}{}", number, behind);
    std::error_code failure;
    std::filesystem::create_directory(path, failure);
    if (failure) throw_system_error("create the directory", path, failure.value());
    return RunDirectory(path, Found::made, missing);
  });
}

void RunDirectory::lock() {
  const std::filesystem::path path = file(kLockFile);
  lock_ = open_file(path, O_RDWR | O_CREAT);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw_system_error("lock", path, errno);
    std::string owner = read_text_file(path, 4096);
    if (owner.empty()) owner = "another process";
    throw RunError(fmt::format("{} is in use by {}", shown_.string(), owner),
                   {.hint = "wait for it, stop it, or choose another --workdir"});
  }
  if (::ftruncate(lock_.get(), 0) != 0) throw_system_error("write", path, errno);
  const std::time_t now = std::time(nullptr);
  write_all(lock_,
            fmt::format("process {} on {} since {:%Y-%m-%d %H:%M:%S}", ::getpid(), host_name(),
                        fmt::localtime(now)),
            path);
}

// The lock is the file that nobody writes again.
void RunDirectory::check_in_place() const {
  struct stat own {
  }, there{};
  const std::filesystem::path path = file(kLockFile);
  if (::fstat(lock_.get(), &own) != 0) throw_system_error("read", path, errno);
  if (::stat(path.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
      own.st_ino == there.st_ino) {
    return;
  }
  throw RunError(shown_.string() + " was removed, renamed or replaced while the run worked in it",
                 {.hint = "start the run again, or continue it from a copy of the directory"});
}

void RunDirectory::remove_leftovers() const noexcept {
  for (const char* const name : kReplaced) {
    std::error_code ignored;  // a remaining file is replaced by the next process
    std::filesystem::remove(file(std::string(name) + ".tmp"), ignored);
  }
}

void RunDirectory::remove_if_made() noexcept {
  if (!made_) return;
  std::error_code ignored;  // ignores failures: a second error would hide the first
  // Fails, even without an error, while other processes make and remove their directories in it.
  for (int attempt = 0; attempt < kRemovals && std::filesystem::exists(path_, ignored); ++attempt) {
    std::filesystem::remove_all(path_, ignored);
  }
  for (const std::filesystem::path& folder : made_above_) {
    std::filesystem::remove(folder, ignored);  // stays if another run has a directory in it
  }
}

}  // namespace trivet
