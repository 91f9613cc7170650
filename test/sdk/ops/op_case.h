// SPDX-License-Identifier: Apache-2.0
// One op on given inputs, compared on every backend with a reference in double and, where it has a
// gradient, with central differences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trivet/ops.h"

namespace trivet::test {

// A row-major array in double, for references.
struct Array {
  Shape shape;
  std::vector<double> values;

  double& operator[](std::size_t i) { return values[i]; }
  double operator[](std::size_t i) const { return values[i]; }
  std::int64_t dim(int axis) const { return shape[axis]; }
  // The element at the index, which broadcasts: extents of 1 are repeated, missing axes ignored.
  double at(std::span<const std::int64_t> index) const;
  double at(std::initializer_list<std::int64_t> index) const {
    return at(std::span<const std::int64_t>(index.begin(), index.size()));
  }
};

struct Input {
  Shape shape;
  double low = -1, high = 1;
  DType dtype = DType::f32;  // integer types draw from low .. high - 1 and have no gradient
};

struct OpCase {
  std::string name;
  std::vector<Input> inputs;
  std::function<Tensor(std::span<const Tensor>)> op;
  std::function<Array(std::span<const Array>)> reference;
  bool differentiable = true;
  // Bound of |got - want| / (1 + |want|). f32 sums of a few dozen terms stay well below.
  double tolerance = 1e-5;
  double gradient_tolerance = 1e-2;
};

// Fails the current test with the case, the backend and the element.
void check(const OpCase& op);

// Calls f for every index of the shape, in row-major order.
void for_each_index(const Shape& shape,
                    const std::function<void(std::span<const std::int64_t>)>& f);
Array filled(const Shape& shape,
             const std::function<double(std::span<const std::int64_t>)>& element);

}  // namespace trivet::test
