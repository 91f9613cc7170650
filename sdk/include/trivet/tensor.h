// SPDX-License-Identifier: Apache-2.0
// Tensor: a strided, typed view of device or host memory. Eight bytes, copied freely; copies share
// the memory.
//
// Values do not change once produced. The exceptions are parameters, gradient and metric
// accumulators, which their owners change through `mutable_view`, and host tensors that an Input is
// still filling.
//
// Device memory is read through to_host, or through span<T>() where the device is host-visible;
// nothing but a backend dereferences tv_view.data otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trivet/backend/dtype.h"
#include "trivet/base/export.h"
#include "trivet/tensor/shape.h"

namespace trivet {

class Device;
struct GradientSlot;
struct TensorImpl;  // internal: sdk/src/tensor/tensor_impl.h

class TRIVET_API Tensor {
 public:
  Tensor() = default;  // no tensor; only defined() may be asked
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor();

  // New tensors on a device. `empty` has undefined contents. Device memory of a training step comes
  // from the step's arena (device.h) when a step is open, and from the caching allocator otherwise.
  // [run-thread]
  static Tensor empty(Device& device, const Shape& shape, DType dtype = DType::f32);
  static Tensor full(Device& device, const Shape& shape, double value, DType dtype = DType::f32);
  static Tensor zeros(Device& device, const Shape& shape, DType dtype = DType::f32) {
    return full(device, shape, 0, dtype);
  }
  template <class T>
  static Tensor from(Device& device, std::span<const T> values, const Shape& shape) {
    return from_bytes(device, std::as_bytes(values), shape, dtype_of<T>);
  }
  static Tensor scalar(Device& device, float value);

  // Host memory, pooled: the same sizes are handed out again without asking the system.
  // [any-thread]
  static Tensor host(const Shape& shape, DType dtype = DType::f32);

  // The same values on `device`: no copy where the memory is already usable there. [run-thread]
  Tensor to(Device& device) const;

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  std::int64_t dim(int axis) const { return shape()[axis]; }
  int rank() const { return shape().rank(); }
  std::int64_t size() const { return shape().size(); }  // elements
  std::size_t bytes() const;                            // of the elements, without gaps
  DType dtype() const;
  bool on_host() const;
  Device& device() const;  // throws Error for a host tensor
  bool contiguous() const;
  bool same_as(const Tensor& other) const { return impl_ == other.impl_; }

  // What a backend call takes.
  tv_view view() const;
  // The same for memory that this caller owns and may change (see above).
  tv_view mutable_view();

  // The elements in row-major order, copied. T must match dtype (float also reads bf16 and f16).
  // Waits for the device.
  template <class T>
  std::vector<T> to_host() const {
    std::vector<T> out(static_cast<std::size_t>(size()));
    read(std::as_writable_bytes(std::span<T>(out)), dtype_of<T>);
    return out;
  }
  float item() const;  // the one element, as float

  // Direct access; throws Error unless contiguous, host-visible and of type T. Waits for the
  // device.
  template <class T>
  std::span<const T> span() const {
    return {static_cast<const T*>(host_pointer(dtype_of<T>)), static_cast<std::size_t>(size())};
  }
  template <class T>
  std::span<T> mutable_span() {
    return {static_cast<T*>(mutable_host_pointer(dtype_of<T>)), static_cast<std::size_t>(size())};
  }

  // Copies `values` into this tensor's memory (parameters, states). Sizes must match.
  void assign_bytes(std::span<const std::byte> values);
  std::vector<std::byte> to_bytes() const;          // row-major elements
  void copy_bytes(std::span<std::byte> out) const;  // the same; the size must be bytes()

  // True when gradients flow to it on the tape that is recording.
  bool requires_grad() const;

  std::string to_string() const;  // "f32 [128, 10] on cpu/Highway"

  TensorImpl* impl() const { return impl_; }
  explicit Tensor(TensorImpl* owned) : impl_(owned) {}  // internal: takes one reference

 private:
  static Tensor from_bytes(Device&, std::span<const std::byte>, const Shape&, DType);
  void read(std::span<std::byte> out, DType as) const;
  void* host_pointer(DType expected) const;
  void* mutable_host_pointer(DType expected);
  void check_mutable() const;

  TensorImpl* impl_ = nullptr;
};

}  // namespace trivet
