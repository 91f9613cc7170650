// SPDX-License-Identifier: Apache-2.0
// Fields of configs in words: type, range, default, doc, choices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trivet/config/schema.h"

namespace trivet {

// Returns several lines. For a table, includes its fields.
std::string field_text(const Field& field, std::size_t indent);
std::string fields_text(const Schema& schema);

// "a, b": the values of a choice, or of the elements of a list or map of choices. Empty for other
// types.
std::string choices_text(const FieldType& type);

// The schema of a table, or of the tables in a list or map.
const std::vector<Field>& nested_fields(const FieldType& type);

}  // namespace trivet
