// SPDX-License-Identifier: Apache-2.0
// SharedWorld: the memory that the processes of a run share: a ring of bytes from each to each, and
// who is there. It lies in the anonymous file TRIVET_WORLD_FD, of which nothing remains when the
// last process has ended, however it ended.
#pragma once

#include <cstdint>
#include <vector>

#include "local/processes/byte_ring.h"
#include "trivet/os/file.h"

namespace trivet::local {

class SharedWorld {
 public:
  static constexpr int kMaxSize = 1024;

  // The rank of this process and their number by the environment; rank -1 and size 0 where the
  // program has not started it.
  struct Rank {
    int rank = -1;
    int size = 0;
  };
  static Rank launched();

  // Waits until all processes are there. Throws RunError: the environment is not that of a started
  // process, the system gives no memory, another process has ended.
  SharedWorld();
  // This process has ended its part. Does not wait.
  ~SharedWorld();
  SharedWorld(const SharedWorld&) = delete;
  SharedWorld& operator=(const SharedWorld&) = delete;

  int rank() const { return self_.rank; }
  int size() const { return self_.size; }
  ByteRing& ring(int from, int to);
  // Whether the process of this rank runs, or has ended its part in order.
  bool is_there(int rank) const;
  bool has_left(int rank) const;
  // Kills all others and ends this process.
  [[noreturn]] void abort(int code);

 private:
  struct Member;
  struct Header;

  Header& header() const;

  Rank self_;
  UniqueFd file_;  // of an open() of its own, whose locks end with the process
  void* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace trivet::local
