// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/json_part.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "tokenizers/text/json_file.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {

JsonPart JsonPart::field(const char* name) const {
  return {field_of(*value_, name), source_, path_.empty() ? name : path_ + "." + name};
}

std::vector<JsonPart> JsonPart::items() const {
  if (!value_->is_array()) fail("must be a list, not " + shown_json(*value_));
  std::vector<JsonPart> parts;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    parts.emplace_back((*value_)[i], source_, fmt::format("{}[{}]", path_, i));
  }
  return parts;
}

std::string JsonPart::type() const {
  if (!value_->is_object()) fail("must be an object with a \"type\", not " + shown_json(*value_));
  return text("type");
}

bool JsonPart::flag(const char* name, bool otherwise) const {
  const JsonPart found = field(name);
  if (found.is_null()) return otherwise;
  if (!found.value().is_boolean()) {
    found.fail("must be true or false, not " + shown_json(found.value()));
  }
  return found.value().get<bool>();
}

std::int64_t JsonPart::integer(const char* name, std::optional<std::int64_t> otherwise,
                               std::int64_t lowest, std::int64_t highest) const {
  const JsonPart found = field(name);
  if (found.is_null() && otherwise) return *otherwise;
  // An unsigned number beyond int64_t would become a negative one.
  const bool fits = found.value().is_number_integer() &&
                    (!found.value().is_number_unsigned() ||
                     found.value().get<std::uint64_t>() <= static_cast<std::uint64_t>(highest)) &&
                    found.value().get<std::int64_t>() >= lowest &&
                    found.value().get<std::int64_t>() <= highest;
  if (!fits) {
    found.fail(fmt::format("must be an integer from {} to {}, not {}", lowest, highest,
                           shown_json(found.value())));
  }
  return found.value().get<std::int64_t>();
}

std::string JsonPart::text(const char* name) const {
  const auto found = optional_text(name);
  if (!found) field(name).fail("is missing");
  return *found;
}

std::string JsonPart::text(const char* name, const std::string& otherwise) const {
  return optional_text(name).value_or(otherwise);
}

std::optional<std::string> JsonPart::optional_text(const char* name) const {
  const JsonPart found = field(name);
  if (found.is_null()) return std::nullopt;
  if (!found.value().is_string()) {
    found.fail("must be a text, not " + shown_json(found.value()));
  }
  return found.value().get<std::string>();
}

std::string JsonPart::character(const char* name, const std::string& otherwise) const {
  const std::string found = text(name, otherwise);
  if (found.empty() || first_code_point(found).length != found.size()) {
    field(name).fail("must be one character, not " + shown_json(found));
  }
  return found;
}

void JsonPart::check_fields(std::initializer_list<const char*> names) const {
  if (!value_->is_object()) fail("must be an object, not " + shown_json(*value_));
  for (const auto& [key, unused] : value_->items()) {
    const std::string& name = key;
    const bool known = name == "type" || std::any_of(names.begin(), names.end(),
                                                     [&](const char* n) { return name == n; });
    if (!known) {
      fail("the field " + shown_json(name) + " is not supported",
           "remove it if the tokenizer does not need it");
    }
  }
}

void JsonPart::fail(const std::string& what, std::string hint) const {
  throw InputError(place() + (path_.empty() ? ": " : " ") + what, {.hint = std::move(hint)});
}

void JsonPart::fail_type(const char* kind, const char* known) const {
  fail(fmt::format("has the {} {}, which is not supported", kind, shown_json(type())),
       std::string("supported: ") + known);
}

}  // namespace trivet::tokenizers
