// SPDX-License-Identifier: Apache-2.0
//
// A config tree side by side with the schemas that describe it: what may stand at a location, and
// how one layer is laid over another there. The tree may still be wrong or incomplete, so nothing
// here complains: what is not known is treated as a free value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// What the schemas say about one location. Points into schemas and lives as long as they do.
struct SchemaNode {
  const FieldType* type = nullptr;  // null: nothing is known
  const Value* default_value = nullptr;
  const Field* field = nullptr;  // null inside lists and maps

  bool is_config() const noexcept { return type && type->form == FieldType::Form::config; }
  // Keys need no schema here.
  bool is_free() const noexcept {
    return type == nullptr || type->form == FieldType::Form::map ||
           type->form == FieldType::Form::value;
  }
};

class TypedTree {
 public:
  // Both must outlive the tree.
  TypedTree(const Schema& root, SchemaLookup& lookup);

  SchemaNode root() const noexcept { return {&root_, nullptr, nullptr}; }

  // The key of the type at a ConfigOf location: as given, else the field's default, else empty.
  std::string key_at(const Value& value, const SchemaNode& node) const;
  // The fields of the table at a location; null when they are not known.
  const std::vector<Field>* fields(const Value& value, const SchemaNode& node) const;
  // Of the member `name` (or an old name of it) of the table at a location, of an element of a
  // list.
  SchemaNode child(const Value& value, const SchemaNode& node, std::string_view name) const;
  SchemaNode element(const SchemaNode& node) const noexcept;

  // Writes the short forms of a ConfigOf (the key alone, a bare number) as a table.
  void expand(Value& value, const SchemaNode& node) const;

  // Lays `upper` over `lower`: tables merge, everything else replaces. A table whose `type` differs
  // from the one below starts afresh; the short form of the type that is there merges as its table
  // would. Old names count as the new ones.
  void merge(Value& lower, Value upper, const SchemaNode& node) const;

  // Null when the lookup has none.
  const Schema* schema(const std::string& kind, const std::string& key) const;
  // What a bare number stands for; nothing when that is not clear.
  std::optional<ScalarShorthand> for_number(const std::string& kind) const;
  SchemaLookup& lookup() const noexcept { return lookup_; }

 private:
  void merge_members(Value& lower, Value upper, const SchemaNode& node) const;

  FieldType root_;
  SchemaLookup& lookup_;
  mutable std::map<std::pair<std::string, std::string>, const Schema*> schemas_;
};

// The field of this name or old name; null if there is none.
const Field* find_field(const std::vector<Field>* fields, std::string_view name) noexcept;
// The member that holds a field under its name or an old one; null if there is none.
Value::Member* find_member(Value& table, const Field& field) noexcept;

// True for text that consists of or holds a reference, "${...}".
bool has_reference(const Value& value) noexcept;

}  // namespace trivet
