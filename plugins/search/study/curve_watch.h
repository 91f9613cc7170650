// SPDX-License-Identifier: Apache-2.0
// CurveWatch: wakes a supervisor as soon as a trial has a new measurement, so that a hopeless trial
// stops at once and not at the next poll, a second later.
//
//   CurveWatch watch(supervision.wake_fd);
//   poll(watch.fd());      // readable: the other one is, or a file that was followed has grown
//   watch.quiet();
//   watch.follow(file);    // first, so that nothing is missed between the two
//   read(file);
//
// On a file system without change notification, or without free watches, the supervisor polls.
#pragma once

#include <filesystem>

#include "trivet/os/file.h"

namespace trivet::search {

class CurveWatch {
 public:
  // `other` is another file descriptor to wake for and must outlive the watch; -1: none. Throws
  // RunError if the system is out of file descriptors.
  explicit CurveWatch(int other);
  CurveWatch(const CurveWatch&) = delete;
  CurveWatch& operator=(const CurveWatch&) = delete;

  int fd() const noexcept { return all_.get(); }
  // Wakes once, when the file changes or is made.
  void follow(const std::filesystem::path& file) const;
  // Clears pending notifications, except those of `other`, which belong to its owner.
  void quiet() const;

 private:
  UniqueFd changes_, all_;
};

}  // namespace trivet::search
