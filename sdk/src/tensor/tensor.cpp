// SPDX-License-Identifier: Apache-2.0
// Tensor: making, moving and reading. Views and their strides are in ops_shape.cpp.
#include "trivet/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/block_pool.h"
#include "tensor/device_impl.h"
#include "tensor/packing.h"
#include "tensor/tensor_impl.h"
#include "trivet/backend/half.h"
#include "trivet/error.h"

namespace trivet {
namespace {

BlockPool<TensorImpl>& header_pool() {
  static BlockPool<TensorImpl>& pool = *new BlockPool<TensorImpl>;
  return pool;
}

std::byte* data_of(const TensorImpl& impl) {
  if (impl.storage->on_demand) impl.storage->on_demand->need(*impl.storage);
  // Device addresses are numbers to us: nothing says they may be reached from here.
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(impl.storage->data) +
                                      static_cast<std::uintptr_t>(impl.offset) *
                                          size_of(impl.dtype));
}

// Row-major elements of a strided array in host memory.
void gather_host(const TensorImpl& impl, int axis, const std::byte* from, std::byte*& to) {
  const std::size_t width = size_of(impl.dtype);
  if (axis == impl.shape.rank()) {
    std::memcpy(to, from, width);
    to += width;
    return;
  }
  for (std::int64_t i = 0; i < impl.shape[axis]; ++i) {
    gather_host(impl, axis + 1, from + i * impl.strides[axis] * static_cast<std::int64_t>(width),
                to);
  }
}

Tensor host_copy(const Tensor& x) {
  Tensor copy = Tensor::host(x.shape(), x.dtype());
  std::byte* to = data_of(*copy.impl());
  if (x.size() != 0) gather_host(*x.impl(), 0, data_of(*x.impl()), to);
  return copy;
}

// The implementation of a tensor. Throws Error for an undefined one.
const TensorImpl& behind(const TensorImpl* impl) {
  if (impl == nullptr) throw Error("a tensor was asked for that is not defined");
  return *impl;
}

std::string mismatch(const Tensor& tensor, DType as) {
  return tensor.to_string() + " cannot be read as " + std::string(name_of(as));
}

}  // namespace

// ---- headers

TensorImpl* TensorImpl::make() {
  return header_pool().make();
}

TensorImpl* TensorImpl::over(Storage* storage, Device* device, const Shape& shape, DType dtype) {
  TensorImpl* impl = make();
  impl->storage = storage;
  impl->device = device;
  impl->shape = shape;
  impl->dtype = dtype;
  impl->set_contiguous_strides();
  return impl;
}

TensorImpl* TensorImpl::alias() const {
  TensorImpl* impl = make();
  impl->dtype = dtype;
  impl->contiguous = contiguous;
  impl->storage = storage;
  impl->device = device;
  impl->offset = offset;
  impl->shape = shape;
  std::copy(std::begin(strides), std::end(strides), std::begin(impl->strides));
  if (storage != nullptr) storage->retain();
  return impl;
}

void TensorImpl::destroy() {
  if (storage != nullptr) storage->release();
  header_pool().destroy(this);
}

void TensorImpl::set_contiguous_strides() {
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  contiguous = true;
}

const char*& op_of_running_gradient() noexcept {
  thread_local const char* op = nullptr;
  return op;
}

bool exclusive(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  return impl->references.load(std::memory_order_acquire) == 1 && impl->slot == nullptr &&
         impl->storage->unique();
}

Tensor view_of(const Tensor& x, const Shape& shape, const std::int64_t* strides,
               std::int64_t offset) {
  TensorImpl* impl = x.impl()->alias();
  impl->shape = shape;
  impl->offset += offset;
  std::copy(strides, strides + shape.rank(), impl->strides);
  // Strides of axes that are never stepped along do not matter.
  std::int64_t expected = 1;
  impl->contiguous = true;
  for (int axis = shape.rank() - 1; axis >= 0 && impl->contiguous; --axis) {
    impl->contiguous = shape[axis] == 1 || strides[axis] == expected;
    expected *= shape[axis];
  }
  impl->contiguous = impl->contiguous || shape.size() == 0;
  if (impl->contiguous) impl->set_contiguous_strides();
  return Tensor(impl);
}

Tensor::Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
  if (impl_ != nullptr) impl_->retain();
}

Tensor::~Tensor() {
  if (impl_ != nullptr) impl_->release();
}

// ---- making

Tensor Tensor::empty(Device& device, const Shape& shape, DType dtype) {
  if (dtype == DType::i8) {
    throw Error("tensors cannot have the element type i8: only files have it");
  }
  Device::Impl& impl = device.impl();
  Storage* storage = impl.memory->allocate(shape, dtype, impl.op);
  return Tensor(TensorImpl::over(storage, &device, shape, dtype));
}

Tensor Tensor::full(Device& device, const Shape& shape, double value, DType dtype) {
  Tensor tensor = empty(device, shape, dtype);
  detail::fill(tensor, value);
  return tensor;
}

Tensor Tensor::scalar(Device& device, float value) {
  return from<float>(device, std::span<const float>(&value, 1), Shape());
}

Tensor Tensor::host(const Shape& shape, DType dtype) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(shape.size()), size_of(dtype), &bytes)) {
    throw Error("a tensor of shape " + shape.to_string() + " is too large");
  }
  return Tensor(TensorImpl::over(make_host_storage(bytes), nullptr, shape, dtype));
}

Tensor Tensor::from_bytes(Device& device, std::span<const std::byte> values, const Shape& shape,
                          DType dtype) {
  if (values.size() != static_cast<std::uint64_t>(shape.size()) * size_of(dtype)) {
    throw Error("shape " + shape.to_string() + " has " + std::to_string(shape.size()) +
                " elements, but " + std::to_string(values.size() / size_of(dtype)) + " were given");
  }
  Tensor tensor = empty(device, shape, dtype);
  device.impl().upload(tensor.view().data, values.data(), values.size());
  return tensor;
}

Tensor Tensor::to(Device& device) const {
  const TensorImpl& impl = behind(impl_);
  if (impl.device == &device) return *this;
  if (impl.device != nullptr) {
    // Between devices the bytes pass through host memory.
    Tensor on_host = host(shape(), dtype());
    std::vector<std::byte> bytes = to_bytes();
    on_host.assign_bytes(bytes);
    return on_host.to(device);
  }
  if (device.host_visible()) {
    TensorImpl* shared = impl.alias();
    shared->device = &device;
    return Tensor(shared);
  }
  Tensor packed = impl.contiguous ? *this : host_copy(*this);
  Tensor moved = empty(device, shape(), dtype());
  device.impl().upload(moved.view().data, data_of(*packed.impl_), packed.bytes());
  return moved;
}

// ---- facts

const Shape& Tensor::shape() const {
  return behind(impl_).shape;
}
std::size_t Tensor::bytes() const {
  return static_cast<std::size_t>(size()) * size_of(dtype());
}
DType Tensor::dtype() const {
  return behind(impl_).dtype;
}
bool Tensor::on_host() const {
  return behind(impl_).device == nullptr;
}
bool Tensor::contiguous() const {
  return behind(impl_).contiguous;
}

Device& Tensor::device() const {
  if (behind(impl_).device == nullptr) {
    throw Error(to_string() + " is not on a device", {.hint = "move it with to(device)"});
  }
  return *impl_->device;
}

tv_view Tensor::view() const {
  const TensorImpl& impl = behind(impl_);
  if (impl.storage == nullptr) {
    const char* const op = op_of_running_gradient();
    throw Error("the values of " + to_string() + " were not kept for the gradient" +
                    (op != nullptr ? " of '" + std::string(op) + "'" : ""),
                {.hint = "name them among the saved tensors of record()"});
  }
  tv_view view;
  view.data = data_of(impl);
  view.rank = static_cast<std::uint8_t>(impl.shape.rank());
  view.dtype = static_cast<std::uint8_t>(impl.dtype);
  std::copy(impl.shape.begin(), impl.shape.begin() + TV_MAX_RANK, view.shape);
  std::copy(std::begin(impl.strides), std::end(impl.strides), view.stride);
  return view;
}

tv_view Tensor::mutable_view() {
  check_mutable();
  return view();
}

// A write to memory that is there on demand would be lost.
void Tensor::check_mutable() const {
  const TensorImpl& impl = behind(impl_);
  if (impl.storage == nullptr || !impl.storage->on_demand) return;
  throw Error(
      to_string() + " is a weight of which each process has a part, and cannot be written to",
      {.hint = "use Parameter::assign"});
}

std::string Tensor::to_string() const {
  if (impl_ == nullptr) return "no tensor";
  return std::string(name_of(dtype())) + " " + shape().to_string() + " on " +
         (on_host() ? "the host" : impl_->device->key());
}

// ---- reading and writing

void Tensor::read(std::span<std::byte> out, DType as) const {
  const bool bytes_match = dtype() == as || (as == DType::u8 && dtype() == DType::boolean);
  const bool widen = as == DType::f32 && (dtype() == DType::bf16 || dtype() == DType::f16);
  if (!bytes_match && !widen) throw Error(mismatch(*this, as));
  const std::size_t count = static_cast<std::size_t>(size());
  std::vector<std::byte> raw;
  if (widen) raw.resize(count * 2);
  std::byte* target = widen ? raw.data() : out.data();
  if (on_host()) {
    if (contiguous()) {
      std::memcpy(target, data_of(*impl_), bytes());
    } else if (count != 0) {
      gather_host(*impl_, 0, data_of(*impl_), target);
    }
  } else {
    Tensor packed = detail::packed(*this);
    device().impl().download(target, packed.view().data, bytes());
  }
  if (!widen) return;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, raw.data() + 2 * i, 2);
    const float value = dtype() == DType::bf16 ? float_from_bf16(half) : float_from_f16(half);
    std::memcpy(out.data() + 4 * i, &value, 4);
  }
}

float Tensor::item() const {
  if (size() != 1) {
    throw Error("item() needs exactly one element, " + to_string() + " has " +
                std::to_string(size()));
  }
  switch (dtype()) {
    case DType::i32:
      return static_cast<float>(to_host<std::int32_t>()[0]);
    case DType::u32:
      return static_cast<float>(to_host<std::uint32_t>()[0]);
    case DType::u8:
    case DType::boolean:
      return static_cast<float>(to_host<std::uint8_t>()[0]);
    default: {
      float value;
      read(std::as_writable_bytes(std::span<float>(&value, 1)), DType::f32);
      return value;
    }
  }
}

void* Tensor::mutable_host_pointer(DType expected) {
  check_mutable();
  return host_pointer(expected);
}

void* Tensor::host_pointer(DType expected) const {
  const bool match = dtype() == expected || (expected == DType::u8 && dtype() == DType::boolean);
  if (!match) throw Error(mismatch(*this, expected));
  if (!contiguous()) throw Error(to_string() + " is not contiguous, so it has no span");
  if (!on_host() && !device().host_visible()) {
    throw Error(to_string() + " cannot be reached from the host", {.hint = "read it with to_host"});
  }
  if (!on_host()) device().sync();
  return view().data;
}

void Tensor::assign_bytes(std::span<const std::byte> values) {
  if (values.size() != bytes()) {
    throw Error(to_string() + " takes " + std::to_string(bytes()) + " bytes, not " +
                std::to_string(values.size()));
  }
  if (!contiguous()) throw Error(to_string() + " is not contiguous, so it cannot be assigned to");
  if (impl_->storage->on_demand) {
    const std::uint64_t offset = static_cast<std::uint64_t>(impl_->offset) * size_of(dtype());
    return impl_->storage->on_demand->assign(offset, values);
  }
  if (on_host()) {
    std::memcpy(view().data, values.data(), values.size());
  } else {
    device().impl().upload(view().data, values.data(), values.size());
  }
}

std::vector<std::byte> Tensor::to_bytes() const {
  std::vector<std::byte> out(bytes());
  read(out, dtype());
  return out;
}

void Tensor::copy_bytes(std::span<std::byte> out) const {
  if (out.size() != bytes()) {
    throw Error(to_string() + " has " + std::to_string(bytes()) + " bytes, not " +
                std::to_string(out.size()));
  }
  read(out, dtype());
}

}  // namespace trivet
