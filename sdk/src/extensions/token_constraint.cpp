// SPDX-License-Identifier: Apache-2.0
#include "trivet/extensions/token_constraint.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
TokenConstraint::~TokenConstraint() = default;

}  // namespace trivet
