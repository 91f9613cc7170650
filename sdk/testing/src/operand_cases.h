// SPDX-License-Identifier: Apache-2.0
// The ops of trivet/ops*.h with operands that fit them, for operand_check.cpp.
#pragma once

#include <vector>

#include "trivet/testing/operand_check.h"

namespace trivet::testing {

std::vector<OperandCase> operand_cases();

}  // namespace trivet::testing
