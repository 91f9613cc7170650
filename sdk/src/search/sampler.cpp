// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/sampler.h"

namespace trivet::search {

// Out of line, so that the class has one vtable and one type information in the process.
Sampler::~Sampler() = default;

}  // namespace trivet::search
