// SPDX-License-Identifier: Apache-2.0
// Free lists for small objects of one type, shared by all threads and never destroyed: tensors may
// die at any time up to the end of the process.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace trivet {

template <class T>
class BlockPool {
 public:
  template <class... A>
  T* make(A&&... arguments) {
    return ::new (take()) T(std::forward<A>(arguments)...);
  }
  void destroy(T* object) {
    object->~T();
    std::lock_guard lock(mutex_);
    free_ = ::new (static_cast<void*>(object)) Link{free_};
  }

 private:
  struct Link {
    Link* next;
  };
  static_assert(sizeof(T) >= sizeof(Link));

  void* take() {
    std::lock_guard lock(mutex_);
    if (free_ == nullptr) grow();
    return std::exchange(free_, free_->next);
  }
  void grow() {
    constexpr std::size_t kBatch = 64;
    constexpr std::size_t kSize = (sizeof(T) + 63) / 64 * 64;
    auto* bytes = static_cast<std::byte*>(::operator new (kBatch* kSize, std::align_val_t{64}));
    for (std::size_t i = 0; i < kBatch; ++i) free_ = ::new (bytes + i * kSize) Link{free_};
  }

  std::mutex mutex_;
  Link* free_ = nullptr;
};

}  // namespace trivet
