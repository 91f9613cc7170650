// SPDX-License-Identifier: Apache-2.0
#include "config/unknown_keys.h"

#include <utility>

#include "config/field_names.h"

namespace trivet {
namespace {

std::vector<std::string> names_of(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  return names;
}

}  // namespace

std::size_t UnknownKeys::add_table(std::string path, const std::vector<Field>& fields) {
  tables_.push_back({std::move(path), &fields});
  return tables_.size() - 1;
}

void UnknownKeys::add_key(Origin where, std::size_t table, std::string key, bool is_table) {
  keys_.push_back({std::move(where), table, std::move(key), is_table});
}

void UnknownKeys::report(Diagnostics& diagnostics) const {
  for (const Key& unknown : keys_) {
    diagnostics.add({unknown.where, joined_path(tables_[unknown.table].path, unknown.name),
                     "unknown key '" + unknown.name + "'", hint_for(unknown)});
  }
}

std::string UnknownKeys::hint_for(const Key& unknown) const {
  const std::vector<std::string> own = names_of(*tables_[unknown.table].fields);
  const std::string locations = other_locations(unknown);
  // A table of this very name elsewhere is meant, rather than a key of a similar name here.
  const bool is_elsewhere = unknown.is_table && !locations.empty();
  if (!is_elsewhere && !nearest_names(unknown.name, own).empty()) {
    return suggestion(unknown.name, own);
  }
  if (!locations.empty()) {
    return "it is in the wrong table: '" + unknown.name + "' belongs to " + locations;
  }
  if (std::string paths = near_paths(unknown); !paths.empty()) return paths;
  return own.empty() ? "this table has no keys" : suggestion(unknown.name, own);
}

std::string UnknownKeys::other_locations(const Key& unknown) const {
  std::string locations;
  int count = 0;
  for (const Table& table : tables_) {
    if (count == 3) break;
    if (table.path == tables_[unknown.table].path) continue;
    if (field_named(*table.fields, unknown.name) == nullptr) continue;
    locations += count++ > 0 ? " or " : "";
    locations += table.path.empty() ? "the top of the file" : "[" + table.path + "]";
  }
  return locations;
}

// A long common path makes any two names look near: the last word decides who takes part.
std::string UnknownKeys::near_paths(const Key& unknown) const {
  std::vector<std::string> all;
  for (const Table& table : tables_) {
    for (const Field& field : *table.fields) {
      if (nearest_names(unknown.name, {field.name}).empty()) continue;
      all.push_back(joined_path(table.path, field.name));
    }
  }
  const std::string path = joined_path(tables_[unknown.table].path, unknown.name);
  return nearest_names(path, all).empty() ? "" : suggestion(path, all);
}

}  // namespace trivet
