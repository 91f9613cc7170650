// SPDX-License-Identifier: Apache-2.0
// The operations of common models, each with operands of a usual size, for `trivet bench`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "trivet/tape.h"

namespace trivet {

// The operands of one operation on a device.
class Operands {
 public:
  explicit Operands(Device& device) : device_(device) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  Device& device() const { return device_; }

  // Uniform numbers from -1 to 1. A leaf gets a gradient.
  Tensor leaf(const Shape& shape);
  Tensor values(const Shape& shape);
  // Integers from 0 to limit - 1, i32.
  Tensor indices(const Shape& shape, std::int64_t limit);

  // The gradients of leaves start again.
  void clear_gradients();

 private:
  Device& device_;
  std::uint64_t seed_ = 0;
  std::deque<GradientSlot> slots_;
};

struct OpCase {
  std::string_view op;        // "linear"
  std::string_view operands;  // "1024 x 768 x 3072, gelu"
  // Makes the operands. What it returns runs the op once, and returns its output; undefined for an
  // op without gradient. The operands must outlive it.
  std::function<std::function<Tensor()>(Operands&)> open;
};

// In groups, as a table shows them.
std::vector<OpCase> op_cases();

}  // namespace trivet
