// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/sampler.h"

namespace trivet::search {

// Out of line, so that the class has one vtable and one type information in the process.
Sampler::~Sampler() = default;

bool Sampler::takes_several_objectives() const {
  return false;
}

bool Sampler::takes_conditions() const {
  return false;
}

}  // namespace trivet::search
