// SPDX-License-Identifier: Apache-2.0
// The names that a key of a config may have.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "trivet/config/schema.h"

namespace trivet {

inline bool is_name_of(const Field& field, std::string_view key) {
  return field.name == key ||
         std::find(field.aliases.begin(), field.aliases.end(), key) != field.aliases.end();
}

inline const Field* field_named(const std::vector<Field>& fields, std::string_view key) {
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& known) { return is_name_of(known, key); });
  return field != fields.end() ? &*field : nullptr;
}

}  // namespace trivet
