// SPDX-License-Identifier: Apache-2.0
// JSON of tokenizers' files, where a key that comes twice is an error: two tokens would be one.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace trivet::tokenizers {

// Throws InputError, which begins with `source`, for what is not JSON, is nested more than 100 deep
// or has a key twice.
nlohmann::json parse_json(std::string_view text, const std::string& source);

// A field of an object; null where it is missing, and of what is no object.
const nlohmann::json& field_of(const nlohmann::json& object, const char* name);

// Of an object: the field "type"; empty where there is none.
std::string type_of(const nlohmann::json& object);

// The value as JSON, for messages: its first part where it is long.
std::string shown_json(const nlohmann::json& value);

// The file's text. Throws InputError when it cannot be read or has more than a GiB.
std::string read_text(const std::filesystem::path& file);

}  // namespace trivet::tokenizers
