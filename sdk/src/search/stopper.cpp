// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/stopper.h"

namespace trivet::search {

// Out of line, so that the class has one vtable and one type information in the process.
Stopper::~Stopper() = default;

}  // namespace trivet::search
