// SPDX-License-Identifier: Apache-2.0
// What the values of a config mean as members of a struct.
#include "trivet/config/detail/codec.h"
#include "trivet/config/schema.h"

namespace trivet {
namespace detail {

bool is_none(const Value& value) noexcept {
  return value.is_string() && value.as_string() == "none";
}

const Value* find_field(const Value& table, const Field& field) noexcept {
  if (const Value* value = table.find(field.name)) return value;
  for (const std::string& alias : field.aliases) {
    if (const Value* value = table.find(alias)) return value;
  }
  return nullptr;
}

}  // namespace detail

}  // namespace trivet
