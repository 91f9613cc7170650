// SPDX-License-Identifier: Apache-2.0
// Value: a config as a tree, before it becomes a struct. The host parses TOML into it, command line
// overrides change it, structs are decoded from it and encoded to it. Every node remembers where it
// came from.
//
// Example (sdk/examples/snippets/value.cpp#value):
//
//   Value v = Value::table();
//   v.set("dims", 128);
//   v.set_path("task.model.type", "vision/Mlp");  // makes missing tables
//   if (const Value* type = v.find_path("task.model.type")) use(type->as_string());
//
// A Value owns its tree: copies are deep, moves are cheap. Tables keep the order of the file. It is
// not synchronized: share a const Value between threads, or copy it.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/error.h"

namespace trivet {

class TRIVET_API Value {
 public:
  enum class Type { null, boolean, integer, floating, string, array, table };
  struct Member;
  using Array = std::vector<Value>;
  using Table = std::vector<Member>;

  // Null. Constant expressions may hold null values only; a config with a Value member stays usable
  // in them.
  constexpr Value() noexcept = default;
  constexpr ~Value() {
    if (node_ != nullptr) destroy(node_);
  }
  constexpr Value(const Value& other)
      : node_(other.node_ != nullptr ? clone(*other.node_) : nullptr) {}
  constexpr Value(Value&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Value& operator=(const Value& other);
  constexpr Value& operator=(Value&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }

  template <std::same_as<bool> T>
  Value(T value) : Value(Boolean{value}) {}
  // Throws Error for an unsigned value above the range of int64, which is what TOML can hold.
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T value) : Value(Integer{to_int64(value)}) {}
  Value(double value);
  Value(float value) : Value(static_cast<double>(value)) {}
  Value(std::string value);
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(Array items);

  static Value array(std::initializer_list<Value> items = {});
  // Of what a range holds, numbers or texts.
  template <class Range>
  static Value array_of(const Range& items) {
    Value array = Value::array();
    for (const auto& item : items) array.push_back(Value(item));
    return array;
  }
  static Value table();
  // Value::table({{"type", "nn/Relu"}, {"dims", 3}})
  static Value table(std::initializer_list<std::pair<std::string_view, Value>> members);

  Type type() const noexcept;
  bool is_null() const noexcept { return type() == Type::null; }
  bool is_boolean() const noexcept { return type() == Type::boolean; }
  bool is_integer() const noexcept { return type() == Type::integer; }
  bool is_float() const noexcept { return type() == Type::floating; }
  bool is_string() const noexcept { return type() == Type::string; }
  bool is_array() const noexcept { return type() == Type::array; }
  bool is_table() const noexcept { return type() == Type::table; }

  // The content. Each throws ConfigError with the value's origin when the type is another.
  bool as_boolean() const;
  std::int64_t as_integer() const;
  double as_float() const;  // integers are accepted
  const std::string& as_string() const;
  const Array& items() const;  // of an array
  Array& items();
  const Table& members() const;  // of a table, in the order of the file
  Table& members();

  // Looking into tables; null and values of other types have no members. `find_path` takes
  // "a.b[2].c"; names with other characters than letters, digits, '_', '-' are quoted: a."x/Y".b.
  const Value* find(std::string_view key) const noexcept;
  Value* find(std::string_view key) noexcept;
  const Value* find_path(std::string_view path) const;
  Value* find_path(std::string_view path);
  // The member of a table. Throws RunError with `hint` when there is none: "WHAT lacks 'KEY'".
  const Value& at(std::string_view key, std::string_view what, std::string hint = {}) const;
  // The member where it is there and of this type; else `otherwise`.
  std::string string_or(std::string_view key, std::string_view otherwise = {}) const;
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise) const;
  double float_or(std::string_view key, double otherwise) const;  // integers are accepted

  // Changing. `set` replaces in place or appends and returns the stored value; a null value becomes
  // a table first. `set_path` makes missing tables and throws Error when something else than a
  // table is in the way.
  Value& set(std::string_view key, Value value);
  Value& set_path(std::string_view path, Value value);
  bool erase(std::string_view key);  // true if it was there
  Value& push_back(Value item);      // a null value becomes an array first

  // Where the value stands; empty for null and for values made by a program.
  const Origin& origin() const noexcept;
  void set_origin(Origin origin);

  // Deep; ignores origins and the order of table members. 1 and 1.0 differ; NaN equals NaN.
  friend TRIVET_API bool operator==(const Value& a, const Value& b);

 private:
  struct Node;
  struct Boolean {
    bool value;
  };
  struct Integer {
    std::int64_t value;
  };
  explicit Value(Boolean value);
  explicit Value(Integer value);
  template <class T>
  static std::int64_t to_int64(T value) {
    if (!std::in_range<std::int64_t>(value)) throw_not_int64();
    return static_cast<std::int64_t>(value);
  }
  [[noreturn]] static void throw_not_int64();
  static Node* clone(const Node& node);
  static void destroy(Node* node) noexcept;
  Node& make_node();

  Node* node_ = nullptr;
};

struct Value::Member {
  std::string key;
  Value value;
  Origin key_origin{};  // of the key; the value has its own

  friend bool operator==(const Member& a, const Member& b) {
    return a.key == b.key && a.value == b.value;
  }
};

// "a boolean", "an integer", ... for messages.
TRIVET_API std::string_view to_string(Value::Type type) noexcept;

// A float in TOML and JSON, as Python writes it: 1e-05, 0.0001, 100000.0, 1e+16. It is the shortest
// text that reads back to the same bits. "nan", "inf" and "-inf" are no JSON.
TRIVET_API std::string float_text(double number);

// The value in one line of TOML: {type = "nn/Relu", dims = [1, 2]}.
TRIVET_API std::string to_toml(const Value& value);

// One dotted path of two: joined_path("a", "b") is "a.b", joined_path("", "b") is "b"; names that
// need it are quoted.
TRIVET_API std::string joined_path(std::string_view parent, std::string_view name);
// joined_path("a", 2) is "a[2]".
TRIVET_API std::string joined_path(std::string_view parent, std::size_t index);

// A dotted path cut into steps: a name, or an index when `name` is empty and `index` is not
// negative.
struct PathStep {
  std::string name{};
  std::int64_t index = -1;
};
// Throws Error for a malformed path.
TRIVET_API std::vector<PathStep> split_path(std::string_view path);

}  // namespace trivet
