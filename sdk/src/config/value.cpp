// SPDX-License-Identifier: Apache-2.0
// The tree behind trivet::Value. A node is one allocation; null without an origin needs none.
#include "trivet/config/value.h"

#include <cmath>
#include <variant>

namespace trivet {

struct Value::Node {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table> content{};
  Origin origin{};
};

Value::Value(Boolean value) : node_(new Node{value.value, {}}) {}
Value::Value(Integer value) : node_(new Node{value.value, {}}) {}
Value::Value(double value) : node_(new Node{value, {}}) {}
Value::Value(std::string value) : node_(new Node{std::move(value), {}}) {}
Value::Value(Array items) : node_(new Node{std::move(items), {}}) {}

Value& Value::operator=(const Value& other) {
  Value copy(other);
  std::swap(node_, copy.node_);
  return *this;
}

Value::Node* Value::clone(const Node& node) {
  return new Node(node);
}
void Value::destroy(Node* node) noexcept {
  delete node;
}

void Value::throw_not_int64() {
  throw Error("a config has no unsigned numbers above the range of a 64-bit integer");
}

Value::Node& Value::make_node() {
  if (node_ == nullptr) node_ = new Node{};
  return *node_;
}

Value Value::array(std::initializer_list<Value> items) {
  return Value(Array(items));
}

Value Value::table() {
  Value value;
  value.make_node().content = Table{};
  return value;
}

Value Value::table(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value value = table();
  for (const auto& [key, member] : members) value.set(key, member);
  return value;
}

Value::Type Value::type() const noexcept {
  return node_ == nullptr ? Type::null : static_cast<Type>(node_->content.index());
}

std::string_view to_string(Value::Type type) noexcept {
  switch (type) {
    case Value::Type::null:
      return "nothing";
    case Value::Type::boolean:
      return "a boolean";
    case Value::Type::integer:
      return "an integer";
    case Value::Type::floating:
      return "a float";
    case Value::Type::string:
      return "a string";
    case Value::Type::array:
      return "an array";
    case Value::Type::table:
      return "a table";
  }
  return "";
}

namespace {

[[noreturn]] void throw_wrong_type(const Value& value, Value::Type wanted) {
  throw ConfigError(Diagnostic{.where = value.origin(),
                               .what = "expected " + std::string(to_string(wanted)) + ", found " +
                                       std::string(to_string(value.type()))});
}

}  // namespace

bool Value::as_boolean() const {
  if (!is_boolean()) throw_wrong_type(*this, Type::boolean);
  return std::get<bool>(node_->content);
}

std::int64_t Value::as_integer() const {
  if (!is_integer()) throw_wrong_type(*this, Type::integer);
  return std::get<std::int64_t>(node_->content);
}

double Value::as_float() const {
  if (is_integer()) return static_cast<double>(as_integer());
  if (!is_float()) throw_wrong_type(*this, Type::floating);
  return std::get<double>(node_->content);
}

const std::string& Value::as_string() const {
  if (!is_string()) throw_wrong_type(*this, Type::string);
  return std::get<std::string>(node_->content);
}

const Value::Array& Value::items() const {
  if (!is_array()) throw_wrong_type(*this, Type::array);
  return std::get<Array>(node_->content);
}

Value::Array& Value::items() {
  if (!is_array()) throw_wrong_type(*this, Type::array);
  return std::get<Array>(node_->content);
}

const Value::Table& Value::members() const {
  if (!is_table()) throw_wrong_type(*this, Type::table);
  return std::get<Table>(node_->content);
}

Value::Table& Value::members() {
  if (!is_table()) throw_wrong_type(*this, Type::table);
  return std::get<Table>(node_->content);
}

const Value& Value::at(std::string_view key, std::string_view what, std::string hint) const {
  if (const Value* found = find(key)) return *found;
  throw RunError(std::string(what) + " lacks '" + std::string(key) + "'",
                 {.hint = std::move(hint)});
}

const Value* Value::find(std::string_view key) const noexcept {
  if (!is_table()) return nullptr;
  for (const Member& member : std::get<Table>(node_->content)) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Value* Value::find(std::string_view key) noexcept {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

std::string Value::string_or(std::string_view key, std::string_view otherwise) const {
  const Value* value = find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string(otherwise);
}

std::int64_t Value::integer_or(std::string_view key, std::int64_t otherwise) const {
  const Value* value = find(key);
  return value != nullptr && value->is_integer() ? value->as_integer() : otherwise;
}

double Value::float_or(std::string_view key, double otherwise) const {
  const Value* value = find(key);
  const bool is_number = value != nullptr && (value->is_float() || value->is_integer());
  return is_number ? value->as_float() : otherwise;
}

const Value* Value::find_path(std::string_view path) const {
  const Value* value = this;
  for (const PathStep& step : split_path(path)) {
    if (step.index < 0) {
      value = value->find(step.name);
    } else if (value->is_array() && std::cmp_less(step.index, value->items().size())) {
      value = &value->items()[static_cast<std::size_t>(step.index)];
    } else {
      value = nullptr;
    }
    if (value == nullptr) return nullptr;
  }
  return value;
}

Value* Value::find_path(std::string_view path) {
  return const_cast<Value*>(std::as_const(*this).find_path(path));
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) make_node().content = Table{};
  Table& table = members();
  for (Member& member : table) {
    if (member.key == key) return member.value = std::move(value);
  }
  return table.emplace_back(Member{std::string(key), std::move(value), {}}).value;
}

Value& Value::set_path(std::string_view path, Value value) {
  const std::vector<PathStep> steps = split_path(path);
  if (steps.empty()) return *this = std::move(value);
  Value* at = this;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    const PathStep& step = steps[i];
    if (step.index < 0) {
      if (!at->is_null() && !at->is_table()) {
        throw Error("'" + std::string(path) + "': " + std::string(to_string(at->type())) +
                    " is where a table with '" + step.name + "' would have to be");
      }
      Value* next = at->find(step.name);
      at = next != nullptr ? next : &at->set(step.name, last ? Value() : Value::table());
    } else if (at->is_array() && std::cmp_less(step.index, at->items().size())) {
      at = &at->items()[static_cast<std::size_t>(step.index)];
    } else {
      throw Error("'" + std::string(path) + "': there is no element " + std::to_string(step.index));
    }
  }
  return *at = std::move(value);
}

bool Value::erase(std::string_view key) {
  if (!is_table()) return false;
  return std::erase_if(members(), [&](const Member& member) { return member.key == key; }) > 0;
}

Value& Value::push_back(Value item) {
  if (is_null()) make_node().content = Array{};
  return items().emplace_back(std::move(item));
}

const Origin& Value::origin() const noexcept {
  static const Origin kNone;
  return node_ == nullptr ? kNone : node_->origin;
}

void Value::set_origin(Origin origin) {
  make_node().origin = std::move(origin);
}

bool operator==(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  if (a.is_null()) return true;
  if (a.is_float()) {
    const double x = a.as_float(), y = b.as_float();
    return x == y || (std::isnan(x) && std::isnan(y));
  }
  if (!a.is_table()) return a.node_->content == b.node_->content;
  if (a.members().size() != b.members().size()) return false;
  for (const Value::Member& member : a.members()) {
    const Value* other = b.find(member.key);
    if (other == nullptr || !(member.value == *other)) return false;
  }
  return true;
}

}  // namespace trivet
