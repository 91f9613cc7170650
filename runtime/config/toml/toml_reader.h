// SPDX-License-Identifier: Apache-2.0
//
// TOML text to Value. Every value and every key carries its file, line and column; tables have the
// order of the file. Text is checked for UTF-8 and nesting before it is parsed (text_checks.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

// The table a file holds. Throws ConfigError with a location: unreadable or oversized files, text
// that is not UTF-8 or not TOML, keys given twice, dates (a config has none: write them as
// strings).
Value read_toml_file(const std::filesystem::path& file, const Origin& named_at = {});

// The same for text; `file` is the name in origins.
Value read_toml(std::string_view text, const std::string& file);

// One value as it stands to the right of '=': "[1, 2]", "{a = 1}", "true". Origins are line 1 and
// the column within `text`, without a file. Throws ConfigError likewise.
Value read_toml_value(std::string_view text);

// Nothing for a text that is no value.
std::optional<Value> try_read_toml_value(std::string_view text);

}  // namespace trivet
