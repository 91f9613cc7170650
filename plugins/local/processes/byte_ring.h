// SPDX-License-Identifier: Apache-2.0
// ByteRing: a stream of bytes from one process to another, in memory that both have. One process
// writes and one reads; neither waits for the other.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace trivet::local {

// Fresh memory of zeros is an empty ring.
class ByteRing {
 public:
  static constexpr std::uint64_t kCapacity = std::uint64_t{1} << 18;

  // Adds as many of these bytes as there is room for, and returns their number.
  std::uint64_t write(const std::byte* data, std::uint64_t bytes) {
    const std::uint64_t written = written_.load(std::memory_order_relaxed);
    const std::uint64_t room = kCapacity - (written - read_.load(std::memory_order_acquire));
    const std::uint64_t count = std::min(bytes, room);
    if (count == 0) return 0;  // the data of nothing may be null
    const std::uint64_t begin = written % kCapacity;
    const std::uint64_t first = std::min(count, kCapacity - begin);
    std::memcpy(bytes_.data() + begin, data, first);
    std::memcpy(bytes_.data(), data + first, count - first);
    written_.store(written + count, std::memory_order_release);
    return count;
  }

  // Takes up to this number of bytes, and returns how many there were.
  std::uint64_t read(std::byte* data, std::uint64_t bytes) {
    const std::uint64_t read = read_.load(std::memory_order_relaxed);
    const std::uint64_t there = written_.load(std::memory_order_acquire) - read;
    const std::uint64_t count = std::min(bytes, there);
    if (count == 0) return 0;
    const std::uint64_t begin = read % kCapacity;
    const std::uint64_t first = std::min(count, kCapacity - begin);
    std::memcpy(data, bytes_.data() + begin, first);
    std::memcpy(data + first, bytes_.data(), count - first);
    read_.store(read + count, std::memory_order_release);
    return count;
  }

  bool is_empty() const {
    return written_.load(std::memory_order_acquire) == read_.load(std::memory_order_acquire);
  }

 private:
  // Each counts all bytes so far. On lines of their own, since each side writes one of them.
  alignas(64) std::atomic<std::uint64_t> written_;
  alignas(64) std::atomic<std::uint64_t> read_;
  alignas(64) std::array<std::byte, kCapacity> bytes_;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");

}  // namespace trivet::local
