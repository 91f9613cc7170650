// SPDX-License-Identifier: Apache-2.0
// Quantities: field types that a file writes as a number or as a text with units.
#pragma once

#include <optional>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

struct Quantity {
  std::string_view name;      // in schemas: "duration"
  std::string_view expected;  // "a duration such as \"90s\" ..."
  // What bounds are compared with; nothing for a value that is none of these.
  std::optional<double> (*amount)(const Value& value);
  // A default in a note as files write it.
  Value (*as_written)(const Value& number);
  // Whether its numbers are whole.
  bool is_whole = false;
  // Whether a default in a note is a number or the text of a file, rather than bits.
  bool has_text_defaults = false;
  // The message for a text that is 0 or less; empty: none.
  std::string_view not_positive{};
};

// Null for a name that is none of a quantity.
TRIVET_API const Quantity* find_quantity(std::string_view name);
// That of a field whose form is FieldType::Form::quantity.
TRIVET_API const Quantity& quantity_of(const FieldType& type);

}  // namespace trivet
