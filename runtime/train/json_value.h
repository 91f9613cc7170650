// SPDX-License-Identifier: Apache-2.0
// Value to JSON and back, exactly: integers and numbers stay apart, numbers keep all bits. JSON has
// no NaN and no infinity; those are written {"$number": "nan"}, "inf" or "-inf".
#pragma once

#include <string>
#include <string_view>

#include "trivet/value.h"

namespace trivet {

enum class JsonStyle {
  line,      // one line, for .jsonl files
  indented,  // two spaces, with a line end at the end
};

std::string to_json(const Value& value, JsonStyle style = JsonStyle::line);

// `source` names the text in messages. Throws RunError for anything that is not JSON or is nested
// more than 100 deep.
Value value_from_json(std::string_view text, const std::string& source);

}  // namespace trivet
