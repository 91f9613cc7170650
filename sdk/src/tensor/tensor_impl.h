// SPDX-License-Identifier: Apache-2.0
// The implementation of a Tensor: a header (view, type, position on a tape) and a storage (memory
// and who gets it back). Both are counted intrusively and come from free lists, so a step in its
// steady state calls malloc for neither.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "trivet/tensor.h"
#include "trivet/tensor/device.h"

namespace trivet {

struct Arena;

enum class MemoryKind : std::uint8_t {
  host,        // the process-wide host pool
  persistent,  // a device's cache, outside steps
  step,        // a device's cache, counted in the step record
  arena,       // a planned position
  on_demand,   // of an OnDemand
};

struct Storage;

// Memory that is there only where something reads it, such as weights that processes have in parts.
class OnDemand {
 public:
  virtual ~OnDemand() = default;
  // Sets the storage's data. It remains for as long as an op can have its inputs.
  virtual void need(Storage& storage) = 0;
  // What is at `offset` bytes becomes `values`.
  virtual void assign(std::uint64_t offset, std::span<const std::byte> values) = 0;
};

struct Storage {
  std::atomic<std::uint32_t> references{1};
  MemoryKind kind = MemoryKind::host;
  void* data = nullptr;
  std::uint64_t bytes = 0;        // as asked for
  std::uint64_t capacity = 0;     // of the block
  Device::Impl* owner = nullptr;  // null for host memory
  Arena* arena = nullptr;
  std::uint64_t step = 0;    // for step and arena memory: when it was made ...
  std::int32_t number = -1;  // ... and as which allocation of that step
  // For the table of a memory error: what this is.
  const char* made_by = "";
  Shape shape;
  DType dtype = DType::f32;
  std::shared_ptr<OnDemand> on_demand;  // null: the data are always there
  Storage* previous = nullptr;          // list of the device's live storages
  Storage* next = nullptr;

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  bool unique() const { return references.load(std::memory_order_acquire) == 1; }

 private:
  void destroy();
};

struct TensorImpl {
  std::atomic<std::uint32_t> references{1};
  DType dtype = DType::f32;
  bool contiguous = true;
  Storage* storage = nullptr;  // null only in Vjp's stand-ins for values that were not saved
  Device* device = nullptr;    // null: host tensor
  std::int64_t offset = 0;     // elements from the start of the storage
  Shape shape;
  std::int64_t strides[TV_MAX_RANK] = {};
  // Position on a tape: output `output` of node `node` of the tape whose run is `tape`; 0: not on
  // one.
  std::uint64_t tape = 0;
  std::uint32_t node = 0;
  std::uint32_t output = 0;
  GradientSlot* slot = nullptr;         // set on leaves
  std::weak_ptr<const void> slot_life;  // of that slot

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  void set_contiguous_strides();

  static TensorImpl* make();
  // The whole of a new storage, of which it takes the one reference.
  static TensorImpl* over(Storage* storage, Device* device, const Shape& shape, DType dtype);
  // A new header on the same memory, off any tape.
  TensorImpl* alias() const;

 private:
  void destroy();
};

Storage* make_storage();
void discard_storage(Storage* storage);  // one that never got memory
Storage* make_host_storage(std::uint64_t bytes);

// True when nobody but `tensor` can see its memory.
bool exclusive(const Tensor& tensor);

// Name of the op whose vjp this thread runs, which the tape sets; null outside.
const char*& op_of_running_gradient() noexcept;

// The same memory seen with other extents and strides (elements); used by the form ops.
Tensor view_of(const Tensor& x, const Shape& shape, const std::int64_t* strides,
               std::int64_t offset);

}  // namespace trivet
