// SPDX-License-Identifier: Apache-2.0
#include "trivet/json.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "trivet/error.h"

namespace trivet {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxDepth = 100;
constexpr const char* kSpecialNumberKey = "$number";

OrderedJson number_to_json(double number) {
  if (std::isnan(number)) return OrderedJson{{kSpecialNumberKey, "nan"}};
  if (std::isinf(number)) return OrderedJson{{kSpecialNumberKey, number > 0 ? "inf" : "-inf"}};
  return number;
}

OrderedJson json_of(const Value& value) {
  switch (value.type()) {
    case Value::Type::null:
      return nullptr;
    case Value::Type::boolean:
      return value.as_boolean();
    case Value::Type::integer:
      return value.as_integer();
    case Value::Type::number:
      return number_to_json(value.as_number());
    case Value::Type::text:
      return value.as_text();
    case Value::Type::array: {
      OrderedJson array = OrderedJson::array();
      for (const Value& item : value.items()) array.push_back(json_of(item));
      return array;
    }
    case Value::Type::table: {
      OrderedJson table = OrderedJson::object();
      for (const Value::Member& member : value.members()) {
        table[member.key] = json_of(member.value);
      }
      return table;
    }
  }
  return nullptr;
}

std::string dumped(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

// As Python writes it.
std::string spaced(const OrderedJson& json) {
  if (!json.is_structured()) return dumped(json, -1);
  std::string text;
  for (const auto& [key, item] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += dumped(OrderedJson(key), -1) + ": ";
    text += spaced(item);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

Value special_number(const std::string& text, const std::string& source) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  if (text == "inf") return Value(kInfinity);
  if (text == "-inf") return Value(-kInfinity);
  throw RunError(fmt::format("{}: \"{}\" is no number", source, text));
}

Value from_tree(const OrderedJson& json, const std::string& source, int depth) {
  if (depth > kMaxDepth) throw RunError(source + ": nested too deep");
  switch (json.type()) {
    case OrderedJson::value_t::boolean:
      return Value(json.get<bool>());
    case OrderedJson::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case OrderedJson::value_t::number_unsigned:
      return Value(json.get<std::uint64_t>());
    case OrderedJson::value_t::number_float:
      return Value(json.get<double>());
    case OrderedJson::value_t::string:
      return Value(json.get_ref<const std::string&>());
    case OrderedJson::value_t::array: {
      Value array = Value::array();
      for (const OrderedJson& item : json) array.push_back(from_tree(item, source, depth + 1));
      return array;
    }
    case OrderedJson::value_t::object: {
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
  const OrderedJson json = json_of(value);
  if (style == JsonStyle::spaced) return spaced(json);
  return style == JsonStyle::indented ? dumped(json, 2) + '\n' : dumped(json, -1);
}

Value value_from_json(std::string_view text, const std::string& source) {
  OrderedJson json;
  try {
    json = OrderedJson::parse(text);
  } catch (const OrderedJson::exception& failure) {
    throw RunError(fmt::format("{} is not JSON: {}", source, failure.what()));
  }
  return from_tree(json, source, 0);
}

}  // namespace trivet
