// SPDX-License-Identifier: Apache-2.0
#include "sdk/ops/op_case.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/tensor/random.h"
#include "trivet/testing/gradient_check.h"

namespace trivet::test {
namespace {

Array drawn(const Input& input, std::size_t number) {
  Array array{input.shape, std::vector<double>(static_cast<std::size_t>(input.shape.size()))};
  std::vector<float> values(array.values.size());
  random_uniform(RngKey(7).fold(number), input.low, input.high, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    array[i] = input.dtype == DType::f32 ? double{values[i]} : std::floor(double{values[i]});
  }
  return array;
}

Tensor on_device(Device& device, const Array& array, DType dtype) {
  if (dtype == DType::i32) {
    const std::vector<std::int32_t> values(array.values.begin(), array.values.end());
    return Tensor::from<std::int32_t>(device, values, array.shape);
  }
  if (dtype == DType::u8) {
    const std::vector<std::uint8_t> values(array.values.begin(), array.values.end());
    return Tensor::from<std::uint8_t>(device, values, array.shape);
  }
  const std::vector<float> values(array.values.begin(), array.values.end());
  return Tensor::from<float>(device, values, array.shape);
}

std::vector<double> read(const Tensor& y) {
  switch (y.dtype()) {
    case DType::i32: {
      const auto values = y.to_host<std::int32_t>();
      return {values.begin(), values.end()};
    }
    case DType::boolean:
    case DType::u8: {
      const auto values = y.to_host<std::uint8_t>();
      return {values.begin(), values.end()};
    }
    default: {
      const auto values = y.to_host<float>();
      return {values.begin(), values.end()};
    }
  }
}

bool close(double got, double want, double tolerance) {
  if (got == want) return true;  // infinities too
  return std::abs(got - want) <= tolerance * (1 + std::abs(want));
}

void check_on(Device& device, const OpCase& op, std::span<const Array> arrays, const Array& want) {
  INFO(op.name << " on " << device.key());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    inputs.push_back(on_device(device, arrays[i], op.inputs[i].dtype));
  }
  const Tensor y = op.op(inputs);
  REQUIRE(y.shape() == want.shape);
  const std::vector<double> got = read(y);
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": got " << got[i] << ", want " << want[i]);
    if (!close(got[i], want[i], op.tolerance)) FAIL_CHECK("wrong value");
  }
  if (!op.differentiable) return;
  testing::GradientCheckOptions options;
  options.relative = op.gradient_tolerance;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i].dtype != DType::f32) options.constant.push_back(i);
  }
  CHECK(testing::check_gradients(op.op, inputs, options) == "");
}

}  // namespace

double Array::at(std::span<const std::int64_t> index) const {
  const int missing = static_cast<int>(index.size()) - shape.rank();
  std::int64_t position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t i = shape[axis] == 1 ? 0 : index[static_cast<std::size_t>(axis + missing)];
    position = position * shape[axis] + i;
  }
  return values[static_cast<std::size_t>(position)];
}

void check(const OpCase& op) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) arrays.push_back(drawn(op.inputs[i], i));
  const Array want = op.reference(arrays);
  for (const NamedBackend& backend : named_backends()) {
    const std::unique_ptr<Device> device = open(backend);
    check_on(*device, op, arrays, want);
  }
}

void for_each_index(const Shape& shape,
                    const std::function<void(std::span<const std::int64_t>)>& f) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t left = shape.size(); left > 0; --left) {
    f(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      std::int64_t& i = index[static_cast<std::size_t>(axis)];
      if (++i < shape[axis]) break;
      i = 0;
    }
  }
}

Array filled(const Shape& shape,
             const std::function<double(std::span<const std::int64_t>)>& element) {
  Array array{shape, {}};
  for_each_index(shape,
                 [&](std::span<const std::int64_t> i) { array.values.push_back(element(i)); });
  return array;
}

}  // namespace trivet::test
