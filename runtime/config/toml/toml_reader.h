// SPDX-License-Identifier: Apache-2.0
// TOML text to Value. Every value and key has its file, line and column. Tables keep the order of
// the file. Text is checked for UTF-8 and nesting before it is parsed (text_checks.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

// Reads the table in a file. Throws ConfigError with a location for unreadable or oversized files,
// text that is not UTF-8 or TOML, duplicate keys, and dates (write them as strings).
Value read_toml_file(const std::filesystem::path& file, const Origin& named_at = {});

// The same for text. `file` is the name in origins.
Value read_toml(std::string_view text, const std::string& file);

// Parses one value as on the right of '=': "[1, 2]", "{a = 1}", "true". Origins are line 1 and the
// column within `text`, without a file. Throws ConfigError as above.
Value read_toml_value(std::string_view text);

// Nothing for a text that is no value.
std::optional<Value> try_read_toml_value(std::string_view text);

}  // namespace trivet
