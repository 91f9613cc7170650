// SPDX-License-Identifier: Apache-2.0
// Every op with operands that fit it, for operand_check.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trivet/ops.h"

namespace trivet::testing {

struct Operand {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  double low = -1, high = 1;  // integers are drawn from low .. high - 1
  bool optional = false;
};

struct OperandCase {
  std::string op;  // as errors name it
  std::string form{};
  // With this many rows; 0 for an empty call.
  std::function<std::vector<Operand>(std::int64_t rows)> operands{};
  std::function<Tensor(std::span<const Tensor>)> call{};
  bool differentiable = true;
  bool any_type = false;  // takes tensors of any type, and those of the host
};

std::vector<OperandCase> operand_cases();

}  // namespace trivet::testing
