// SPDX-License-Identifier: Apache-2.0
// Host memory for tensors: 64-byte aligned blocks in size classes, handed out again and again, so
// batches of a steady run ask nothing of the system. Free blocks beyond a limit go back.
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tensor/block_pool.h"
#include "tensor/tensor_impl.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::uint64_t kMostFreeBytes = std::uint64_t{512} << 20;
constexpr std::uint64_t kSmallest = 64;

// Four classes to each power of two, so at most a quarter is wasted.
std::size_t class_of(std::uint64_t bytes) {
  if (bytes <= kSmallest) return 0;
  const int power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes <= 2^(power + 1)
  const std::uint64_t quarter = (bytes - 1 - (std::uint64_t{1} << power)) >> (power - 2);
  return static_cast<std::size_t>((power - 6) * 4) + static_cast<std::size_t>(quarter) + 1;
}

std::uint64_t size_of_class(std::size_t index) {
  if (index == 0) return kSmallest;
  const std::uint64_t power = (index - 1) / 4 + 6, quarter = (index - 1) % 4;
  const std::uint64_t size = (std::uint64_t{1} << power) + ((quarter + 1) << (power - 2));
  return (size + 63) / 64 * 64;
}

class HostPool {
 public:
  void* take(std::uint64_t bytes) {
    if (bytes > std::uint64_t{1} << 46) {
      throw Error("a host tensor of " + std::to_string(bytes) + " bytes is too large");
    }
    const std::size_t index = class_of(bytes);
    {
      std::lock_guard lock(mutex_);
      auto& list = free_.at(index);
      if (!list.empty()) {
        void* block = list.back();
        list.pop_back();
        free_bytes_ -= size_of_class(index);
        return block;
      }
    }
    void* block = std::aligned_alloc(64, size_of_class(index));
    if (block == nullptr) {
      throw Error("out of host memory: " + std::to_string(bytes) + " bytes for a tensor");
    }
    return block;
  }

  void give_back(void* block, std::uint64_t bytes) {
    const std::size_t index = class_of(bytes);
    {
      std::lock_guard lock(mutex_);
      if (free_bytes_ + size_of_class(index) <= kMostFreeBytes) {
        free_.at(index).push_back(block);
        free_bytes_ += size_of_class(index);
        return;
      }
    }
    std::free(block);
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<void*>, 168> free_;  // up to 2^47 bytes
  std::uint64_t free_bytes_ = 0;
};

// Never destroyed: tensors may outlive every static object.
HostPool& host_pool() {
  static HostPool& pool = *new HostPool;
  return pool;
}

BlockPool<Storage>& storage_pool() {
  static BlockPool<Storage>& pool = *new BlockPool<Storage>;
  return pool;
}

}  // namespace

void give_back_device_memory(Storage& storage);  // device_memory.cpp

Storage* make_storage() {
  return storage_pool().make();
}
void discard_storage(Storage* storage) {
  storage_pool().destroy(storage);
}

Storage* make_host_storage(std::uint64_t bytes) {
  void* data = host_pool().take(bytes);
  Storage* storage = make_storage();
  storage->kind = MemoryKind::host;
  storage->data = data;
  storage->bytes = bytes;
  return storage;
}

void Storage::destroy() {
  if (kind == MemoryKind::host) {
    host_pool().give_back(data, bytes);
  } else if (kind != MemoryKind::on_demand) {
    give_back_device_memory(*this);
  }
  storage_pool().destroy(this);
}

}  // namespace trivet
