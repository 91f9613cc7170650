// SPDX-License-Identifier: Apache-2.0
#include "host/path_safety.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/core.h>

namespace trivet {
namespace {

namespace fs = std::filesystem;

// Uses the time of the last change of any kind: the modification time can be set back.
FileIdentity identity_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino, static_cast<unsigned long long>(status.st_size),
          status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

std::string owner_objection(const struct stat& status, const std::string& what) {
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return fmt::format("{} belongs to user {}, not to you or root", what, status.st_uid);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("{} can be changed by others (mode {:04o}); chmod go-w", what,
                       status.st_mode & 07777U);
  }
  return {};
}

// `directory` contains no symbolic links.
std::string canonical_objection(const fs::path& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) {
    return fmt::format("{}: {}", directory.string(), std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) return fmt::format("{} is not a folder", directory.string());
  if (std::string text = owner_objection(status, "the folder " + directory.string());
      !text.empty()) {
    return text;
  }
  for (fs::path above = directory; above != above.root_path();) {
    above = above.parent_path();
    if (stat(above.c_str(), &status) != 0) {
      return fmt::format("{}: {}", above.string(), std::strerror(errno));
    }
    if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
      return fmt::format("the folder {} above it can be changed by everybody (mode {:04o})",
                         above.string(), status.st_mode & 07777U);
    }
  }
  return {};
}

CheckedFile refuse(std::string reason) {
  return {UniqueFd(), {}, std::move(reason)};
}

}  // namespace

CheckedFile open_checked(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return refuse(error.message());
  // O_NONBLOCK: opening a FIFO for reading would wait for a writer.
  UniqueFd descriptor(open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (descriptor.get() < 0) return refuse(std::strerror(errno));
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse("not a regular file");
  if (std::string text = owner_objection(status, "the file"); !text.empty()) return refuse(text);
  if (std::string text = canonical_objection(real.parent_path()); !text.empty()) {
    return refuse(text);
  }
  return {std::move(descriptor), identity_of(status), {}};
}

std::string directory_objection(const fs::path& directory) {
  std::error_code error;
  const fs::path real = fs::canonical(directory, error);
  return error ? error.message() : canonical_objection(real);
}

FileIdentity identity_of(const fs::path& file) noexcept {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? identity_of(status) : FileIdentity{};
}

}  // namespace trivet
