// SPDX-License-Identifier: Apache-2.0
// What a ConfigValue asks the registry.
#include "config/config_node.h"
#include "trivet/config/config_of.h"
#include "trivet/config/detail/codec.h"
#include "trivet/plugin/registry.h"

namespace trivet {

ConfigValue ConfigValue::from_value(const Value& value, std::string_view kind, std::string path) {
  if (value.is_null() || detail::is_none(value)) return {};
  ConfigValue config;
  const auto fail = [&](std::string what, std::string hint) {
    throw ConfigError(Diagnostic{value.origin(), path, std::move(what), std::move(hint)});
  };
  if (value.is_float() || value.is_integer()) {
    const std::optional<ScalarShorthand> item = registry().for_number(kind);
    if (!item) {
      fail("no plugin says what a bare number means for a " + std::string(kind),
           "write a table with a 'type'");
    }
    config = ConfigValue(item->key, Value::table({{item->field, value}}));
  } else if (value.is_string()) {
    config = ConfigValue(value.as_string(), Value::table());
  } else if (const Value* type = value.find("type"); type != nullptr && type->is_string()) {
    config = ConfigValue(type->as_string(), value);
  } else {
    fail("expected a table with a 'type', or the type alone", "a type is written plugin/Name");
  }
  config.node_->path = std::move(path);
  config.node_->origin = value.origin();
  return config;
}

std::string ConfigValue::key_of_token(std::string_view kind, const void* token) {
  return registry().key_of_token(kind, token);
}

}  // namespace trivet
