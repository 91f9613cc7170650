// SPDX-License-Identifier: Apache-2.0
// TensorPart: what one process has of a named tensor, such as a weight or a slot of an optimizer,
// of which the processes of a run may have parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trivet/tensor.h"

namespace trivet {

struct TensorPart {
  std::string name;
  Shape shape;  // of the whole tensor
  // The elements of this process, contiguous, in row-major order: not a copy.
  Tensor values;
  std::int64_t begin = 0;  // the first of them among all
  // Whether the processes have different elements, of which each is one process's. Otherwise each
  // process has all of them, equal to those of the others.
  bool is_shared = false;

  // In the whole tensor.
  std::size_t first_byte() const { return static_cast<std::size_t>(begin) * size_of(dtype()); }
  std::size_t whole_bytes() const {
    return static_cast<std::size_t>(shape.size()) * size_of(dtype());
  }
  DType dtype() const { return values.dtype(); }
};

}  // namespace trivet
