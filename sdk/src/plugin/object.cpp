// SPDX-License-Identifier: Apache-2.0
#include "trivet/object.h"

namespace trivet {

Object::~Object() = default;

const void* Object::extension(std::string_view) const noexcept {
  return nullptr;
}

}  // namespace trivet
