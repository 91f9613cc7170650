// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {
namespace {

std::string hint_for(std::string_view action, int error_number) {
  const bool reads = action == "read";
  switch (error_number) {
    case EMFILE:
    case ENFILE:
      return "the limit on open files (ulimit -n) is too low, or other processes have too many";
    case ESTALE:
    case EIO:
      return reads ? "the disk or the server of the file system did not give it; try again" : "";
    case ENOSPC:
    case EDQUOT:
      return "free some space, then start the run again: it continues from its last checkpoint";
    case EROFS:
    case EACCES:
    case EPERM:
      return reads ? "ask its owner for the right to read it, or start the program as its owner"
                   : "choose a directory you may write to with --workdir";
    case EFBIG:
      return "the limit on file sizes (ulimit -f) is too low";
    default:
      return "";
  }
}

std::filesystem::path parent_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

void fill(const UniqueFd& file, const std::filesystem::path& path, std::string_view text,
          Durability durability) {
  write_all(file, text, path);
  if (durability == Durability::synced) sync_file(file, path);
}

}  // namespace

void throw_system_error(std::string_view action, const std::filesystem::path& path,
                        int error_number) {
  throw FileError(fmt::format("cannot {} {}: {}", action, path.string(),
                              std::generic_category().message(error_number)),
                  {.hint = hint_for(action, error_number)}, error_number);
}

bool FileError::may_pass() const {
  switch (number_) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
      return false;
    default:
      return true;
  }
}

bool FileError::is_shortage() const {
  switch (number_) {
    case EAGAIN:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EIO:
    case ESTALE:
      return true;
    default:
      return false;
  }
}

bool is_there(const std::filesystem::path& path) {
  std::error_code failure;
  const bool there = std::filesystem::exists(path, failure);
  if (failure) throw_system_error("read", path, failure.value());
  return there;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

UniqueFd open_file(const std::filesystem::path& path, int flags, mode_t mode) {
  if ((flags & O_ACCMODE) == O_RDONLY) flags |= O_NONBLOCK;
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    throw_system_error((flags & O_ACCMODE) == O_RDONLY ? "read" : "write", path, errno);
  }
  return UniqueFd(fd);
}

void lock_file(const UniqueFd& file, const std::filesystem::path& path) {
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_system_error("lock", path, errno);
  }
}

void write_all(const UniqueFd& file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void append_all(const UniqueFd& file, std::string_view text, const std::filesystem::path& path) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size < 0) throw_system_error("write", path, errno);
  try {
    write_all(file, text, path);
  } catch (...) {
    // Where even that fails, the next process cuts the line off.
    [[maybe_unused]] const int cut = ::ftruncate(file.get(), size);
    throw;
  }
}

void cut_unfinished_line(const UniqueFd& file, const std::filesystem::path& path) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size < 0) throw_system_error("read", path, errno);
  off_t keep = size;
  char buffer[4096];
  while (keep > 0) {
    const off_t begin = std::max<off_t>(0, keep - static_cast<off_t>(sizeof buffer));
    const ssize_t count =
        ::pread(file.get(), buffer, static_cast<std::size_t>(keep - begin), begin);
    if (count != keep - begin) throw_system_error("read", path, count < 0 ? errno : EIO);
    const std::size_t last = std::string_view(buffer, static_cast<std::size_t>(count)).rfind('\n');
    if (last != std::string_view::npos) {
      keep = begin + static_cast<off_t>(last) + 1;
      break;
    }
    keep = begin;
  }
  if (keep < size && ::ftruncate(file.get(), keep) != 0) throw_system_error("write", path, errno);
}

std::string read_part(const UniqueFd& file, std::uint64_t offset, std::uint64_t count,
                      const std::filesystem::path& path) {
  std::string part(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        ::pread(file.get(), part.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_system_error("read", path, got < 0 ? errno : EIO);
    done += static_cast<std::size_t>(got);
  }
  return part;
}

std::string read_up_to(const UniqueFd& file, std::uint64_t most,
                       const std::filesystem::path& path) {
  std::string text;
  char buffer[1 << 16];
  while (text.size() < most) {
    const auto wanted = std::min<std::uint64_t>(sizeof buffer, most - text.size());
    const ssize_t count = ::read(file.get(), buffer, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path, errno);
    if (count == 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

void sync_file(const UniqueFd& file, const std::filesystem::path& path) {
  if (::fsync(file.get()) != 0) throw_system_error("write", path, errno);
}

void sync_directory(const std::filesystem::path& path) {
  const UniqueFd directory = open_file(path, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync a directory and say EINVAL; they need no such call.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) throw_system_error("write", path, errno);
}

void make_directories(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw_system_error("create the directory", path, failure.value());
}

void write_file(const std::filesystem::path& path, std::string_view text, Durability durability) {
  const UniqueFd file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  fill(file, path, text, durability);
}

void replace_file(const std::filesystem::path& path, std::string_view text, Durability durability) {
  // Always the same name: what a killed process has left is written over by the next one.
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  try {
    write_file(temporary, text, durability);
    rename_path(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (durability == Durability::synced) sync_directory(parent_of(path));
}

void rename_path(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_system_error("write", to, errno);
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  const UniqueFd file = open_file(path, O_RDONLY);
  std::string text = read_up_to(file, limit + 1, path);
  if (text.size() > limit) {
    throw RunError(fmt::format("{} is larger than {} bytes", path.string(), limit));
  }
  return text;
}

}  // namespace trivet
