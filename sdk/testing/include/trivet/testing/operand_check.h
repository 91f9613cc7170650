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

#include <string>

#include "trivet/backend/backend.h"

namespace trivet::testing {

struct OperandCheckOptions {
  std::string only;  // when not empty, only ops whose name contains this text
};

// Empty when all is well, otherwise one line a problem. [run-thread]
std::string check_operands(const tv_backend* backend, const OperandCheckOptions& options = {});

}  // namespace trivet::testing
