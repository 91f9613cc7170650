// SPDX-License-Identifier: Apache-2.0
#include "search/study/curve_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "trivet/error.h"

namespace trivet::search {
namespace {

void add(int all, int file) {
  if (file < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(all, EPOLL_CTL_ADD, file, &event);
}

}  // namespace

CurveWatch::CurveWatch(int other)
    : changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), all_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (all_ < 0) {
    if (changes_ >= 0) ::close(changes_);
    throw RunError("the system is out of file descriptors");
  }
  add(all_, other);
  add(all_, changes_);
}

CurveWatch::~CurveWatch() {
  ::close(all_);
  if (changes_ >= 0) ::close(changes_);
}

void CurveWatch::follow(const std::filesystem::path& file) const {
  if (::inotify_add_watch(changes_, file.c_str(), IN_MODIFY | IN_ONESHOT) >= 0) return;
  ::inotify_add_watch(changes_, file.parent_path().c_str(), IN_CREATE | IN_MOVED_TO | IN_ONESHOT);
}

void CurveWatch::quiet() const {
  char events[4096];
  while (::read(changes_, events, sizeof events) > 0) {
  }
}

}  // namespace trivet::search
