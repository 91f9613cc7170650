// SPDX-License-Identifier: Apache-2.0
// Whether the ops of trivet/ops*.h are right on a backend whatever their operands are.
//
// Example (sdk/examples/snippets/backend.cpp#operands):
//
//   const tv_backend* mine = my_backend();
//   REQUIRE(trivet::testing::check_operands(mine) == "");
//
// Calls every op with each operand in turn as a view (transposed, cut out, repeated), of each other
// type, on another device, on the host, missing and with no rows. A view must give what its packed
// copy gives, forward and backward, also where the gradient arrives as a view; what an op does not
// take must be an Error that names the op, and the operand where it is missing. So a kernel that
// relies on the packed inputs that trivet/backend/backend.h promises gets them from every op.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trivet/backend/backend.h"
#include "trivet/ops.h"

namespace trivet::testing {

struct Operand {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  double low = -1, high = 1;  // integers are drawn from low .. high - 1
  bool optional = false;
};

// An op with operands that fit it.
struct OperandCase {
  std::string op;  // as errors name it
  std::string form{};
  // With this many rows; 0 for an empty call.
  std::function<std::vector<Operand>(std::int64_t rows)> operands{};
  std::function<Tensor(std::span<const Tensor>)> call{};
  bool differentiable = true;
  bool any_type = false;  // takes tensors of any type, and those of the host
};

struct OperandCheckOptions {
  std::string only{};               // when not empty, only ops whose name contains this text
  std::vector<OperandCase> more{};  // ops beside those of trivet/ops*.h
};

// Empty when all is well, otherwise one line a problem. [run-thread]
std::string check_operands(const tv_backend* backend, const OperandCheckOptions& options = {});

}  // namespace trivet::testing
