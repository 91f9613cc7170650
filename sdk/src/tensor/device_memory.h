// SPDX-License-Identifier: Apache-2.0
// Memory of one device: a cache of blocks over tv_backend.alloc, the recording and replaying of
// steps, the limit. The policy is described in device.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/step_plan.h"
#include "tensor/tensor_impl.h"
#include "trivet/tensor/device.h"

namespace trivet {

// The one block that planned steps live in. When a tensor outlives its step the arena is left to it
// and goes back with the last such tensor.
struct Arena {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  std::int64_t alive = 0;
  bool left = false;
};

class DeviceMemory {
 public:
  // Asks the backend; null when there is none left.
  using Take = void* (*)(Device::Impl&, std::uint64_t bytes);
  using GiveBack = void (*)(Device::Impl&, void*);

  DeviceMemory(Device::Impl& device, const std::string& key, std::uint64_t limit, Take take,
               GiveBack give_back);
  ~DeviceMemory();

  // Memory for a tensor of this shape; fills in everything of the storage.
  Storage* allocate(const Shape& shape, DType dtype, const char* made_by);
  // The same, but never a part of a step.
  Storage* allocate_apart(const Shape& shape, DType dtype);
  void free(Storage& storage);

  // Memory for the backend's scratch: outside steps and never part of a plan.
  void* allocate_scratch(std::uint64_t bytes);
  void free_scratch(void* data, std::uint64_t bytes);

  void begin_step();
  void end_step();
  // Between steps: the next one is recorded as the first one was.
  void forget_plans();

  MemoryReport report() const;

 private:
  enum class Phase { outside, choosing, recording, replaying };
  struct Block {
    void* data;
    std::uint64_t bytes;
  };

  enum class Where { step, apart };
  Storage* place(Storage* storage, Where where);
  Block take_block(std::uint64_t bytes);
  void* take_from_backend(std::uint64_t bytes);
  void give_to_backend(void* data, std::uint64_t bytes);
  void trim();
  void take_cached(Storage& storage, MemoryKind kind);
  void record_allocation(Storage& storage);
  bool replay_allocation(Storage& storage);
  void note_free(const Storage& storage);
  void choose_plan(std::uint64_t bytes);
  void diverge();
  void finish_recording();
  void finish_replay();
  std::vector<bool> escaped_from_arena() const;
  void keep_plan(StepPlan plan);
  void provide_arena();
  void leave_arena();
  void release_arena(Arena* arena);
  void link(Storage& storage);
  void unlink(Storage& storage);
  [[noreturn]] void fail(std::uint64_t bytes, const char* what) const;
  std::string largest_tensors() const;

  Device::Impl& device_;
  const std::string& key_;
  const std::uint64_t limit_;
  const Take take_;
  const GiveBack give_back_;

  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, void*> free_blocks_;
  Storage* alive_ = nullptr;

  Phase phase_ = Phase::outside;
  std::uint64_t step_ = 0;
  StepRecord record_;
  std::vector<StepPlan> plans_;
  StepPlan* plan_ = nullptr;  // being replayed
  std::size_t event_ = 0;     // next event of it
  std::int32_t number_ = 0;   // next allocation of it
  std::int64_t records_in_a_row_ = 0;
  Arena* arena_ = nullptr;

  std::uint64_t taken_ = 0;       // from the backend, now
  std::uint64_t persistent_ = 0;  // alive outside steps
  MemoryReport report_;
};

}  // namespace trivet
