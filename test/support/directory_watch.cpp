// SPDX-License-Identifier: Apache-2.0
#include "support/directory_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace trivet::test {
namespace {

constexpr std::uint32_t kEvents =
    IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE;

[[noreturn]] void fail(const std::string& action) {
  throw std::runtime_error(action + ": " + std::generic_category().message(errno));
}

}  // namespace

DirectoryWatch::DirectoryWatch(const std::filesystem::path& directory)
    : fd_(::inotify_init1(IN_CLOEXEC)) {
  if (fd_ < 0) fail("cannot watch files");
  add(directory);
  if (watched_.empty()) fail("cannot watch " + directory.string());
}

DirectoryWatch::~DirectoryWatch() {
  ::close(fd_);
}

// A directory that is already gone is not an error: the watched process keeps running.
void DirectoryWatch::add(const std::filesystem::path& directory) {
  const int watch = ::inotify_add_watch(fd_, directory.c_str(), kEvents | IN_ONLYDIR);
  if (watch < 0) return;
  watched_[watch] = directory;
  std::error_code gone;
  std::filesystem::directory_iterator entry(directory, gone), end;
  for (; !gone && entry != end; entry.increment(gone)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) add(entry->path());
  }
}

bool DirectoryWatch::wait(int end, std::filesystem::path* path) {
  while (pending_.empty()) {
    pollfd sources[] = {{fd_, POLLIN, 0}, {end, 0, 0}};
    if (::poll(sources, 2, -1) < 0) {
      if (errno == EINTR) continue;
      fail("cannot wait for files");
    }
    if ((sources[0].revents & POLLIN) != 0) {
      read_events();
    } else if (sources[1].revents != 0) {
      return false;
    }
  }
  if (path != nullptr) *path = pending_.back();
  pending_.pop_back();
  return true;
}

void DirectoryWatch::read_events() {
  alignas(inotify_event) char buffer[8192];
  const ssize_t size = ::read(fd_, buffer, sizeof buffer);
  if (size < 0) fail("cannot watch files");
  for (ssize_t at = 0; at < size;) {
    inotify_event event = {};
    std::memcpy(&event, buffer + at, sizeof event);
    const char* name = buffer + at + sizeof event;
    at += static_cast<ssize_t>(sizeof event + event.len);
    if (event.len == 0) continue;  // about a watch itself
    const std::filesystem::path path = watched_[event.wd] / name;
    if ((event.mask & IN_ISDIR) != 0 && (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) add(path);
    pending_.insert(pending_.begin(), path);
  }
}

}  // namespace trivet::test
