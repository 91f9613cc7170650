// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/jobs_provider.h"

namespace trivet::launch {

// Out of line, so that the class has one vtable and one type information in the process.
JobsProvider::~JobsProvider() = default;

}  // namespace trivet::launch
