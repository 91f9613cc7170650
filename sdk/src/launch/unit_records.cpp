// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/unit_records.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
launch::UnitRecords::~UnitRecords() = default;

}  // namespace trivet
