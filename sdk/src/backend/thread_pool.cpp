// SPDX-License-Identifier: Apache-2.0
// ThreadPool: one region of work at a time, published through a single atomic word.
//
// The word holds {region number, open flag, number of workers inside}. A worker enters by adding
// one while the region is open, takes pieces until there are none, and leaves. The caller opens the
// region, takes part, closes it when no piece is left, and waits only for workers that are inside:
// one that is still asleep costs nothing. The fields of a region are written only while it is
// closed and nobody is inside, so reading them needs no further care.
//
// Each lane (thread) starts on its own run of pieces, which keeps rows in the same core's cache
// from one region to the next, and helps the other lanes when its own run is done. Who computes a
// piece never changes its result.
#include "trivet/backend/thread_pool.h"

#include <pmmintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "trivet/error.h"

namespace trivet {
namespace {

constexpr unsigned kFlushBits = _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON;
constexpr std::uint32_t kWorkersMask = 0x3ff;
constexpr std::uint32_t kOpen = 0x400;
constexpr std::uint32_t kOneRegion = 0x800;
constexpr int kMostThreads = 512;

// Long enough to bridge the serial work between two regions of a training step, short enough not to
// hurt an oversubscribed machine: a sleeping worker costs tens of microseconds to wake.
constexpr std::chrono::microseconds kSpin{60};

// The worker number of the current thread while it runs a piece, else -1.
thread_local std::int32_t current_worker = -1;

// Waits until ready() by spinning; false when the time is up.
template <class Ready>
bool spin(std::chrono::microseconds limit, Ready ready) {
  auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() - start < limit);
  return false;
}

void run_inline(std::int64_t n, std::int64_t grain, ThreadPool::Body body, void* arg,
                std::int32_t worker) {
  for (std::int64_t begin = 0; begin < n; begin += grain) {
    body(arg, begin, std::min(n, begin + grain), worker);
  }
}

class WorkerScope {
 public:
  explicit WorkerScope(std::int32_t worker) { current_worker = worker; }
  ~WorkerScope() { current_worker = -1; }
};

}  // namespace

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | kFlushBits);
}
FlushDenormals::~FlushDenormals() {
  _mm_setcsr(saved_);
}

struct ThreadPool::Impl {
  struct alignas(64) Lane {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  // The region. Written while it is closed and empty.
  Body body = nullptr;
  void* arg = nullptr;
  std::int64_t n = 0, grain = 1;

  alignas(64) std::atomic<std::uint32_t> state{0};
  alignas(64) std::atomic<std::uint32_t> caller_waits{0};
  std::vector<Lane> lanes;
  std::vector<std::thread> workers;
  std::mutex turn;  // one caller at a time
  std::chrono::microseconds patience{0};
  bool stopping = false;  // read by a worker inside a region of no pieces

  std::mutex failure_mutex;
  std::exception_ptr failure;
  std::int64_t failed_piece = 0;

  explicit Impl(int threads) : lanes(static_cast<std::size_t>(threads)) {
    if (threads <= ThreadPool::usable_cores()) patience = kSpin;
    try {
      for (int i = 1; i < threads; ++i) workers.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& refused) {
      stop();
      throw RunError("cannot start thread " + std::to_string(workers.size() + 2) + " of " +
                         std::to_string(threads) + ": " + refused.code().message(),
                     {.hint = "set fewer runtime.threads, or raise the limit on processes "
                              "(ulimit -u) or address space (ulimit -v)"});
    }
  }

  ~Impl() { stop(); }

  void stop() {
    stopping = true;
    divide(0);
    open();
    for (std::thread& worker : workers) worker.join();
  }

  // Gives each lane its run of pieces.
  void divide(std::int64_t pieces) {
    auto count = static_cast<std::int64_t>(lanes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      Lane& lane = lanes[static_cast<std::size_t>(i)];
      lane.end = pieces * (i + 1) / count;
      lane.next.store(pieces * i / count, std::memory_order_relaxed);
    }
  }

  void open() {
    std::uint32_t old = state.load(std::memory_order_relaxed);
    state.store((old + kOneRegion) | kOpen, std::memory_order_release);
    state.notify_all();
  }

  void close_and_wait() {
    std::uint32_t inside = state.fetch_and(~kOpen, std::memory_order_acq_rel) & kWorkersMask;
    if (inside == 0) return;
    auto empty = [&] { return (state.load(std::memory_order_acquire) & kWorkersMask) == 0; };
    if (spin(patience, empty)) return;
    // A worker that leaves last looks at caller_waits after leaving, and we look at the state after
    // setting it.
    for (;;) {
      caller_waits.store(1);
      std::uint32_t seen = state.load();
      if ((seen & kWorkersMask) == 0) break;
      state.wait(seen);
    }
    caller_waits.store(0);
  }

  void leave() {
    std::uint32_t old = state.fetch_sub(1);
    bool last = (old & kWorkersMask) == 1 && (old & kOpen) == 0;
    if (last && caller_waits.load() != 0) state.notify_all();
  }

  // Waits for a region this worker has not seen and enters it; returns its number.
  std::uint32_t enter(std::uint32_t last_region) {
    std::uint32_t seen = state.load(std::memory_order_acquire);
    auto fresh = [&] {
      seen = state.load(std::memory_order_acquire);
      return (seen & kOpen) != 0 && seen / kOneRegion != last_region;
    };
    for (;;) {
      if (!spin(patience, fresh)) {
        while (!fresh()) state.wait(seen);
      }
      if (state.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel)) {
        return seen / kOneRegion;
      }
    }
  }

  void work(std::int32_t worker) {
    FlushDenormals flush;
    std::uint32_t region = 0;
    for (;;) {
      region = enter(region);
      bool stop = stopping;
      if (!stop) run_pieces(worker);
      leave();
      if (stop) return;
    }
  }

  void run_pieces(std::int32_t worker) {
    WorkerScope scope(worker);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      Lane& lane = lanes[(static_cast<std::size_t>(worker) + i) % lanes.size()];
      for (;;) {
        if (lane.next.load(std::memory_order_relaxed) >= lane.end) break;
        std::int64_t piece = lane.next.fetch_add(1, std::memory_order_relaxed);
        if (piece >= lane.end) break;
        run_piece(piece, worker);
      }
    }
  }

  void run_piece(std::int64_t piece, std::int32_t worker) {
    try {
      body(arg, piece * grain, std::min(n, (piece + 1) * grain), worker);
    } catch (...) {
      std::lock_guard lock(failure_mutex);
      if (failure && failed_piece < piece) return;
      failure = std::current_exception();
      failed_piece = piece;
    }
  }

  void run(std::int64_t count, std::int64_t piece_size, Body function, void* argument) {
    body = function, arg = argument, n = count, grain = piece_size;
    std::int64_t pieces = (count + piece_size - 1) / piece_size;
    divide(pieces);
    bool alone = pieces == 1 || workers.empty();
    if (!alone) open();
    run_pieces(0);
    if (!alone) close_and_wait();
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

ThreadPool::ThreadPool(int threads) {
  if (threads < 0 || threads > kMostThreads) {
    throw Error("a thread pool has 1 to " + std::to_string(kMostThreads) + " threads, not " +
                std::to_string(threads));
  }
  impl_ = std::make_unique<Impl>(threads == 0 ? std::min(ThreadPool::usable_cores(), kMostThreads)
                                              : threads);
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int ThreadPool::threads() const {
  return static_cast<int>(impl_->lanes.size());
}

void ThreadPool::parallel_for(std::int64_t n, std::int64_t grain, Body body, void* arg) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  if (current_worker >= 0) return run_inline(n, grain, body, arg, current_worker);
  std::lock_guard lock(impl_->turn);
  FlushDenormals flush;
  impl_->run(n, grain, body, arg);
}

}  // namespace trivet
