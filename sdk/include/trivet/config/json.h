// SPDX-License-Identifier: Apache-2.0
// Value to JSON and back, exactly: integers and numbers stay apart, numbers keep all bits. JSON has
// no NaN and no infinity; those are written {"$number": "nan"}, "inf" or "-inf".
#pragma once

#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/value.h"

namespace trivet {

enum class JsonStyle {
  line,      // one line without blanks, for .jsonl files
  spaced,    // one line with a blank after each comma and colon, for arguments and messages
  indented,  // two spaces, with a line end at the end
};

// Bytes that are not UTF-8 become U+FFFD.
TRIVET_API std::string to_json(const Value& value, JsonStyle style = JsonStyle::line);

// `source` names the text in messages. Throws RunError for anything that is not JSON or is nested
// more than 100 deep.
TRIVET_API Value value_from_json(std::string_view text, const std::string& source);

}  // namespace trivet
