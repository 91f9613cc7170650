// SPDX-License-Identifier: Apache-2.0
#include "host/host_lookup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

bool has_unknown_default(const std::vector<Field>& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const Field& field) {
    if (field.type.form == FieldType::Form::table && !field.type.optional) {
      return has_unknown_default(field.type.fields);
    }
    return !field.default_value.has_value();
  });
}

}  // namespace

const Schema* HostLookup::from_note(const ManifestItem& item) {
  const std::lock_guard lock(mutex_);
  const std::string name = item.kind + " " + item.key;
  auto found = schemas_.find(name);
  if (found == schemas_.end()) {
    try {
      Schema schema = item.schema_json.empty() ? Schema{} : schema_from_json(item.schema_json);
      found = schemas_.emplace(name, std::move(schema)).first;
    } catch (const std::exception& bad) {
      host_.refuse(plugin_of(item.key), schema_objection(item, bad));
      return nullptr;
    }
  }
  return &found->second;
}

const Schema* HostLookup::find(std::string_view kind, std::string_view key, const Origin& where,
                               const std::string& path, Diagnostics& diagnostics) {
  static const Schema kNoFields;
  const auto registered = [&]() -> const Schema* {
    const RegistryItem* item = registry_.find(kind, key);
    if (item == nullptr) return nullptr;
    return item->schema != nullptr ? &item->schema() : &kNoFields;
  };
  if (const Schema* schema = registered()) return schema;
  try {
    for (const ManifestItem& item : host_.items(key)) {
      if (item.kind != kind) continue;
      const Schema* schema = from_note(item);
      if (schema == nullptr) break;  // now it is refused
      if (unknown_ == UnknownDefaults::leave || !has_unknown_default(schema->fields)) {
        return schema;
      }
      host_.load(kind, key);
      const Schema* complete = registered();
      return complete != nullptr ? complete : schema;
    }
  } catch (Error& error) {
    error.amend({.where = where, .path = path, .key = std::string(key)});
    throw;
  }
  // A plugin that cannot be used is no mistake of the config: another class, another exit code.
  const std::string plugin(plugin_of(key));
  const std::string refusal = host_.refusal(plugin);
  if (!refusal.empty()) {
    throw PluginError("the plugin cannot be used: " + refusal,
                      {.where = where, .path = path, .plugin = plugin, .key = std::string(key)});
  }
  Diagnostic missing = registry_.missing(kind, key, where, path);
  const std::vector<ManifestItem> others = host_.items(key);
  const bool told = missing.hint.starts_with("it is a ");
  if (!others.empty() && !told) missing.hint = "it is a " + others[0].kind + "; " + missing.hint;
  diagnostics.add(std::move(missing));
  return nullptr;
}

std::optional<ScalarShorthand> HostLookup::for_number(std::string_view kind) {
  return registry_.for_number(kind);
}

}  // namespace trivet
