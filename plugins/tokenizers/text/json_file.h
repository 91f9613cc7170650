// SPDX-License-Identifier: Apache-2.0
// Parses JSON of tokenizers' files. A duplicate key is an error: it would merge two tokens.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace trivet::tokenizers {

// Throws InputError, which starts with `source`, if the text is not JSON, is nested more than 100
// deep or has a duplicate key.
nlohmann::json parse_json(std::string_view text, const std::string& source);

// Returns a field of an object; null if it is missing or `object` is not an object.
const nlohmann::json& field_of(const nlohmann::json& object, const char* name);

// Returns the field "type" of an object; empty if it is missing.
std::string type_of(const nlohmann::json& object);

// Returns the value as JSON for messages, shortened if it is long.
std::string shown_json(const nlohmann::json& value);

// Returns the file's text, decompressed (trivet/os/input_file.h). Throws InputError if it cannot be
// read or exceeds one GiB.
std::string read_text(const std::filesystem::path& file);

}  // namespace trivet::tokenizers
