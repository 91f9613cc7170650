// SPDX-License-Identifier: Apache-2.0
#include "sdk/ops/onnx/operators.h"

#include <cmath>
#include <limits>

namespace trivet::test::onnx {
namespace {

template <class T>
Tensor values_as(Device& device, const Array& array) {
  std::vector<T> values;
  for (const double value : array.values) {
    const bool fits = !std::isfinite(value) ||
                      std::abs(value) <= static_cast<double>(std::numeric_limits<T>::max());
    if (!fits) throw NoCounterpart("a number beyond the type that holds it");
    values.push_back(static_cast<T>(value));
  }
  return Tensor::from<T>(device, values, shape_of(array.dims));
}

Tensor narrowed(Device& device, const Array& array, DType dtype) {
  return ops::cast(values_as<float>(device, array), dtype);
}

}  // namespace

const Tensor& Call::any(std::size_t i) const {
  if (!has(i)) throw NoCounterpart("input " + std::to_string(i) + " is left out");
  return inputs[i];
}

const Tensor& Call::f32(std::size_t i) const {
  const Tensor& x = any(i);
  if (x.dtype() != DType::f32) throw NoCounterpart(node.op + " of " + x.to_string());
  return x;
}

std::vector<std::int64_t> Call::integers(std::size_t i) const {
  const Tensor& x = any(i);
  if (x.dtype() != DType::i32) throw NoCounterpart(node.op + " by " + x.to_string());
  const auto values = x.to_host<std::int32_t>();
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> Call::integers(const std::string& attribute, std::size_t i) const {
  if (node.has(attribute)) return node.integers(attribute);
  return has(i) ? integers(i) : std::vector<std::int64_t>();
}

Tensor Call::of_integers(const std::vector<std::int64_t>& values) const {
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return Tensor::from<std::int32_t>(device, narrow, {static_cast<std::int64_t>(narrow.size())});
}

const Operators& operators() {
  static const Operators all = [] {
    Operators made;
    add_elementwise(made);
    add_forms(made);
    add_indices(made);
    add_reductions(made);
    add_windows(made);
    add_losses(made);
    return made;
  }();
  return all;
}

Tensor to_device(Device& device, const Array& array) {
  switch (array.type) {
    case Type::f32:
    case Type::f64:
      return values_as<float>(device, array);
    case Type::f16:
      return narrowed(device, array, DType::f16);
    case Type::bf16:
      return narrowed(device, array, DType::bf16);
    case Type::i32:
    case Type::i64:
      return values_as<std::int32_t>(device, array);
    case Type::u8:
      return values_as<std::uint8_t>(device, array);
    case Type::boolean:
      return narrowed(device, array, DType::boolean);
    default:
      throw NoCounterpart("element type " + std::to_string(static_cast<int>(array.type)));
  }
}

Tensor permuted(const Tensor& x, const std::vector<int>& axes) {
  switch (axes.size()) {
    case 1:
      return ops::transpose(x, {axes[0]});
    case 2:
      return ops::transpose(x, {axes[0], axes[1]});
    case 3:
      return ops::transpose(x, {axes[0], axes[1], axes[2]});
    case 4:
      return ops::transpose(x, {axes[0], axes[1], axes[2], axes[3]});
    case 5:
      return ops::transpose(x, {axes[0], axes[1], axes[2], axes[3], axes[4]});
    case 6:
      return ops::transpose(x, {axes[0], axes[1], axes[2], axes[3], axes[4], axes[5]});
    default:
      return x;
  }
}

Shape shape_of(const std::vector<std::int64_t>& extents) {
  if (extents.size() > TV_MAX_RANK) throw NoCounterpart("more than six axes");
  return Shape(std::span<const std::int64_t>(extents));
}

std::vector<std::int64_t> extents_of(const Tensor& x) {
  return {x.shape().begin(), x.shape().end()};
}

}  // namespace trivet::test::onnx
