// SPDX-License-Identifier: Apache-2.0
#include "train/json_value.h"

#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "config/value_json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 100;

Value special_number(const std::string& text, const std::string& source) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  if (text == "inf") return Value(kInfinity);
  if (text == "-inf") return Value(-kInfinity);
  throw RunError(fmt::format("{}: \"{}\" is no number", source, text));
}

Value from_tree(const Json& json, const std::string& source, int depth) {
  if (depth > kMaxDepth) throw RunError(source + ": nested too deep");
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return Value(json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return Value(json.get<double>());
    case Json::value_t::string:
      return Value(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      Value array = Value::array();
      for (const Json& item : json) array.push_back(from_tree(item, source, depth + 1));
      return array;
    }
    case Json::value_t::object: {
      if (json.size() == 1 && json.begin().key() == kSpecialNumberKey &&
          json.begin()->is_string()) {
        return special_number(json.begin()->get<std::string>(), source);
      }
      Value table = Value::table();
      for (const auto& [key, item] : json.items()) {
        table.set(key, from_tree(item, source, depth + 1));
      }
      return table;
    }
    default:
      return Value();
  }
}

}  // namespace

std::string to_json(const Value& value, JsonStyle style) {
  const int indent = style == JsonStyle::indented ? 2 : -1;
  std::string text = json_of(value).dump(indent, ' ', false, Json::error_handler_t::replace);
  if (style == JsonStyle::indented) text += '\n';
  return text;
}

Value value_from_json(std::string_view text, const std::string& source) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& failure) {
    throw RunError(fmt::format("{} is not JSON: {}", source, failure.what()));
  }
  return from_tree(json, source, 0);
}

}  // namespace trivet
