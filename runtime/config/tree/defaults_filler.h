// SPDX-License-Identifier: Apache-2.0
// Completes a config tree: struct defaults, the [defaults."plugin/Name"] tables, and explicit
// types.
#pragma once

#include <cstddef>
#include <string>

#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// The note in the origin of values from a struct.
inline constexpr const char* kDefaultNote = "default";

class DefaultsFiller {
 public:
  // `by_type` has a table for each "plugin/Name"; null for none. All arguments must outlive this
  // object.
  DefaultsFiller(const TypedTree& tree, const Value& by_type, Diagnostics& diagnostics)
      : tree_(tree), by_type_(by_type), diagnostics_(diagnostics) {}

  // Adds missing fields with known defaults at every depth, writes ConfigOf values as tables with a
  // `type`, replaces old field names by current ones, and orders members as in the schema. Accepts
  // invalid trees. Reports defaults that contain themselves without end.
  void fill(Value& root);

 private:
  void fill_value(Value& value, const SchemaNode& node, const std::string& path);
  void fill_config(Value& value, const SchemaNode& node, const std::string& path);
  void fill_fields(Value& table, const std::vector<Field>& fields, const std::string& path);
  bool may_go_deeper(const Value& value, const std::string& path);

  const TypedTree& tree_;
  const Value& by_type_;
  Diagnostics& diagnostics_;
  std::size_t depth_ = 0;
  std::size_t count_ = 0;
  bool endless_ = false;
};

}  // namespace trivet
