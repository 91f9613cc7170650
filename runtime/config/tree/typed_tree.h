// SPDX-License-Identifier: Apache-2.0
// A config tree with the schemas that describe it: which values a location accepts, and how layers
// merge there. The tree may be wrong or incomplete, so these functions report no errors: unknown
// values are free values.
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

// The schema of one location. Points into the schemas, which must outlive it.
struct SchemaNode {
  const FieldType* type = nullptr;  // null: unknown
  const Value* default_value = nullptr;
  const Field* field = nullptr;  // null inside lists and maps

  bool is_config() const noexcept { return type && type->form == FieldType::Form::config; }
  // Keys without a schema are allowed here.
  bool is_free() const noexcept {
    return type == nullptr || type->form == FieldType::Form::map ||
           type->form == FieldType::Form::value;
  }
};

class TypedTree {
 public:
  // Both must outlive this object.
  TypedTree(const Schema& root, SchemaLookup& lookup);

  SchemaNode root() const noexcept { return {&root_, nullptr, nullptr}; }

  // The key of the type at a ConfigOf location: the given one, else the field's default, else
  // empty.
  std::string key_at(const Value& value, const SchemaNode& node) const;
  // The fields of the table at a location. Null if unknown.
  const std::vector<Field>* fields(const Value& value, const SchemaNode& node) const;
  // The schema of the member `name` (or an old name of it) of the table at a location, or of a list
  // element.
  SchemaNode child(const Value& value, const SchemaNode& node, std::string_view name) const;
  SchemaNode element(const SchemaNode& node) const noexcept;

  // Writes the short forms of a ConfigOf (the key alone, a bare number) as a table.
  void expand(Value& value, const SchemaNode& node) const;

  // Merges `upper` over `lower`: tables merge, all other values replace. A table whose `type`
  // differs from the lower one replaces it; the short form of the same type merges like its table.
  // Old names count as the new ones.
  void merge(Value& lower, Value upper, const SchemaNode& node) const;

  // Null if the lookup has none.
  const Schema* schema(const std::string& kind, const std::string& key) const;
  // The item that a bare number selects. Nothing if ambiguous.
  std::optional<ScalarShorthand> for_number(const std::string& kind) const;
  SchemaLookup& lookup() const noexcept { return lookup_; }

 private:
  void merge_members(Value& lower, Value upper, const SchemaNode& node) const;

  FieldType root_;
  SchemaLookup& lookup_;
  mutable std::map<std::pair<std::string, std::string>, const Schema*> schemas_;
};

// The field with this name or old name. Null if none.
const Field* find_field(const std::vector<Field>* fields, std::string_view name) noexcept;
// The member with a field's name or an old name. Null if none.
Value::Member* find_member(Value& table, const Field& field) noexcept;

// Whether the text contains a reference, "${...}".
bool has_reference(const Value& value) noexcept;

}  // namespace trivet
