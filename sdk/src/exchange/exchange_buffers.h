// SPDX-License-Identifier: Apache-2.0
// ExchangeBuffers: the memory of exchanges, which outlives them.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace trivet::detail {

// What is exchanged, kept for its memory, which only grows.
class ExchangeBuffers {
 public:
  std::vector<float> packed, rows, sums;

  // Memory of an exchange beside others.
  std::vector<float> take() {
    if (spare_.empty()) return {};
    std::vector<float> memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
  }
  void give_back(std::vector<float> memory) { spare_.push_back(std::move(memory)); }

 private:
  std::vector<std::vector<float>> spare_;
};

// Until the process ends: of a transfer that has failed, or that another failure has left, whose
// memory the engine may still use. [any-thread]
template <class Memory>
void keep_to_the_end(Memory memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<Memory>();
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(memory));
}

}  // namespace trivet::detail
