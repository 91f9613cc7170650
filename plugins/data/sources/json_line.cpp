// SPDX-License-Identifier: Apache-2.0
#include "data/sources/json_line.h"

#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// A longer line is an error, as in CsvReader.
constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

}  // namespace

void JsonLine::take(std::string_view line, std::string location) {
  example_.location = std::move(location);
  if (line.size() > kMostLineBytes) {
    throw InputError(
        example_.location + ": is longer than " + std::to_string(kMostLineBytes >> 20) + " MiB",
        {.hint = "is a line end missing? each line must be one JSON object"});
  }
  try {
    value_ = value_from_json(line, example_.location);
  } catch (const RunError& error) {
    throw InputError(error.message(), {.hint = "each line must be a complete JSON object"});
  }
  if (!value_.is_table()) throw InputError(example_.location + ": is not a JSON object");
  example_.features.clear();
  numbers_.clear();
  numbers_.reserve(value_.members().size());
  for (const Value::Member& member : value_.members()) {
    const Value& content = member.value;
    if (content.is_string()) {
      example_.features.push_back({member.key, content.as_string()});
    } else if (content.is_boolean() || content.is_integer() || content.is_float()) {
      numbers_.push_back(to_json(content));
      example_.features.push_back({member.key, numbers_.back()});
    }
  }
}

}  // namespace trivet::data
