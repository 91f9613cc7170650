// SPDX-License-Identifier: Apache-2.0
// The one pool of compute threads in a process.
//
// Work is split by size and never by thread count: parallel_for cuts [0, n) into pieces of `grain`,
// whatever the number of threads, so results do not depend on it. Threads flush denormals to zero
// (FTZ and DAZ). They spin for a short while between regions and then block, so an oversubscribed
// machine does not crawl.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API ThreadPool {
 public:
  using Body = void (*)(void* arg, std::int64_t begin, std::int64_t end, std::int32_t worker);

  // `threads` counts the calling thread; 0 means one per core this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // That this process may use.
  static int usable_cores();

  // Runs the pieces on the pool and the calling thread, and waits. An exception leaving a piece is
  // rethrown here (the first by piece index). A call from inside a piece runs inline. Calls from
  // several threads take turns. [any-thread]
  void parallel_for(std::int64_t n, std::int64_t grain, Body body, void* arg);

  template <class F>
  void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
    parallel_for(
        n, grain,
        [](void* arg, std::int64_t b, std::int64_t e, std::int32_t w) {
          (*static_cast<std::remove_reference_t<F>*>(arg))(b, e, w);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sets flush-to-zero and denormals-are-zero on the calling thread for its lifetime, and puts the
// old mode back.
class TRIVET_API FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace trivet
