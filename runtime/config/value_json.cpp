// SPDX-License-Identifier: Apache-2.0
#include "config/value_json.h"

#include <cmath>

namespace trivet {
namespace {

using Json = nlohmann::ordered_json;

Json number_to_json(double number) {
  if (std::isnan(number)) return Json{{kSpecialNumberKey, "nan"}};
  if (std::isinf(number)) return Json{{kSpecialNumberKey, number > 0 ? "inf" : "-inf"}};
  return number;
}

}  // namespace

Json json_of(const Value& value) {
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
      Json array = Json::array();
      for (const Value& item : value.items()) array.push_back(json_of(item));
      return array;
    }
    case Value::Type::table: {
      Json table = Json::object();
      for (const Value::Member& member : value.members()) {
        table[member.key] = json_of(member.value);
      }
      return table;
    }
  }
  return nullptr;
}

}  // namespace trivet
