// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/config_of.h"

#include "config/config_node.h"

namespace trivet {

ConfigValue::ConfigValue(std::string key, Value fields) {
  if (fields.is_null()) fields = Value::table();
  (void)fields.members();  // throws for anything but a table
  Origin origin = fields.origin();
  fields.erase("type");
  node_ = new Node{std::move(key), std::move(fields), {}, std::move(origin)};
}

ConfigValue::Node* ConfigValue::make_node(std::string_view key) {
  return new Node{.key = std::string(key)};
}
ConfigValue::Node* ConfigValue::clone(const Node& node) {
  return new Node(node);
}
void ConfigValue::destroy(Node* node) noexcept {
  delete node;
}
std::string_view ConfigValue::node_key() const noexcept {
  return node_->key;
}

const Value& ConfigValue::fields() const noexcept {
  static const Value kNone = Value::table();
  return node_ != nullptr ? node_->fields : kNone;
}

const std::string& ConfigValue::path() const noexcept {
  static const std::string kNone;
  return node_ != nullptr ? node_->path : kNone;
}

const Origin& ConfigValue::origin() const noexcept {
  static const Origin kNone;
  return node_ != nullptr ? node_->origin : kNone;
}

Value ConfigValue::to_value() const {
  if (!has_value()) return {};
  Value table = Value::table();
  table.set("type", key());
  for (const Value::Member& member : fields().members()) {
    table.members().push_back(member);
  }
  return table;
}

bool operator==(const ConfigValue& a, const ConfigValue& b) {
  return a.has_value() == b.has_value() && a.key() == b.key() && a.fields() == b.fields();
}

}  // namespace trivet
