// SPDX-License-Identifier: Apache-2.0
// CurveWatch: wakes a supervisor as soon as a trial has measured something, so that a hopeless one
// is stopped then and not at the next look, a second later.
//
//   CurveWatch watch(supervision.wake_fd);
//   poll(watch.fd());      // readable: the other one is, or a file that was followed has grown
//   watch.quiet();
//   watch.follow(file);    // first, so that nothing is missed between the two
//   read(file);
//
// A file system that tells nobody of changes, and a system without watches left, cost that second.
#pragma once

#include <filesystem>

#include "trivet/os/file.h"

namespace trivet::search {

class CurveWatch {
 public:
  // `other` is a file descriptor to wake for, too, and must outlive it; -1: none. Throws RunError
  // when the system has no more file descriptors.
  explicit CurveWatch(int other);
  CurveWatch(const CurveWatch&) = delete;
  CurveWatch& operator=(const CurveWatch&) = delete;

  int fd() const noexcept { return all_.get(); }
  // Wakes once, when the file changes or is made.
  void follow(const std::filesystem::path& file) const;
  // Takes what has been told. That of `other` is its owner's to take.
  void quiet() const;

 private:
  UniqueFd changes_, all_;
};

}  // namespace trivet::search
