// SPDX-License-Identifier: Apache-2.0
// A part of a JSON file that knows its place, so that errors name it: "tokenizer.json:
// pre_tokenizer.pretokenizers[0].pattern: ...". All functions throw InputError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace trivet::tokenizers {

class JsonPart {
 public:
  // `value` must outlive the part. `source` names the file.
  JsonPart(const nlohmann::json& value, std::string source, std::string path = {})
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}

  const nlohmann::json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  // The file and the path, for messages.
  std::string place() const { return path_.empty() ? source_ : source_ + ": " + path_; }

  // An object's field; a part with the value null if it is missing.
  JsonPart field(const char* name) const;
  // The elements of a list.
  std::vector<JsonPart> items() const;
  // The elements of the list in a field, which must exist.
  std::vector<JsonPart> list(const char* name) const { return field(name).items(); }

  // The field "type"; it must be there.
  std::string type() const;
  // Unset or null: `otherwise`.
  bool flag(const char* name, bool otherwise) const;
  std::int64_t integer(const char* name, std::optional<std::int64_t> otherwise,
                       std::int64_t lowest = 0,
                       std::int64_t highest = std::numeric_limits<std::int32_t>::max()) const;
  std::string text(const char* name) const;  // must be there
  std::string text(const char* name, const std::string& otherwise) const;
  std::optional<std::string> optional_text(const char* name) const;
  // Exactly one character. Unset or null: `otherwise`.
  std::string character(const char* name, const std::string& otherwise) const;

  // Refuses an object with fields other than these and "type".
  void check_fields(std::initializer_list<const char*> names) const;

  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const;
  // "the KIND TYPE is not supported".
  [[noreturn]] void fail_type(const char* kind, const char* known) const;

 private:
  const nlohmann::json* value_;
  std::string source_, path_;
};

}  // namespace trivet::tokenizers
