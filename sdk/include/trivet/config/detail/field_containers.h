// SPDX-License-Identifier: Apache-2.0
// FieldTraits of what is made of other fields, or is a field of any form: lists, maps, optionals,
// ConfigOf and Value. Those of structs are in codec.h. A further one of this sort is a
// specialization with the members of FieldTraits<std::vector<T>>.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trivet/config/detail/describe.h"
#include "trivet/config/map.h"
#include "trivet/config/schema.h"

namespace trivet::detail {

// Where a type stands. A table in a list, a map or an optional begins as its own struct does, so
// its unknown defaults come from there; those of a table that is a field come from the struct
// around it.
enum class Place { field, element };

// The functions that FieldTraits call for what they hold, of whatever type (schema_json.h,
// codec.h).
template <class Sink, class T>
constexpr void json_default(Sink& out, const T& value);
template <class Sink, class T>
constexpr void json_type(Sink& out);
template <class T>
void read(const Value& value, const FieldType& type, const std::string& path,
          Diagnostics& diagnostics, T& out);
template <class T>
Value write(const T& value, const T* fallback);
template <class T>
bool same(const T& a, const T& b);
template <class T>
void complete_elements(FieldType& type, Place place);

// "none" is an empty ConfigOf or optional whose default is not empty.
TRIVET_API bool is_none(const Value& value) noexcept;

template <class T>
struct FieldTraits<std::vector<T>> {
  using List = std::vector<T>;
  using Element = T;  // whose bounds and choices those of the field are

  // Writes a default into the schema of a note.
  template <class Sink>
  static constexpr void write_json(Sink& out, const List& value) {
    out.put('[');
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out.put(',');
      json_default<Sink, T>(out, value[i]);
    }
    out.put(']');
  }
  // Writes the keys that describe the type.
  template <class Sink>
  static constexpr void write_type(Sink& out) {
    out.raw("\"type\":\"list\",\"element\":{");
    json_type<Sink, T>(out);
    out.put('}');
  }
  // validate() has seen that the value has the form.
  static void read(const Value& value, const FieldType& type, const std::string& path,
                   Diagnostics& diagnostics, List& out) {
    out.clear();
    std::size_t index = 0;
    for (const Value& item : value.items()) {
      T element{};
      detail::read(item, type.element[0], joined_path(path, index++), diagnostics, element);
      out.push_back(std::move(element));
    }
  }
  // `fallback` is what an absent value would mean, or null where that is not known.
  static Value write(const List& value, const List*) {
    Value items = Value::array();
    for (std::size_t i = 0; i < value.size(); ++i) {
      items.push_back(detail::write<T>(value[i], nullptr));
    }
    return items;
  }
  static bool same(const List& a, const List& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!detail::same<T>(a[i], b[i])) return false;
    }
    return true;
  }
  // Adds to the type what the schema of a note does not say: the defaults of structs in it.
  static void complete(FieldType& type, Place) {
    complete_elements<T>(type.element[0], Place::element);
  }
};

template <class T>
struct FieldTraits<Map<T>> {
  using Element = T;

  template <class Sink>
  static constexpr void write_json(Sink& out, const Map<T>& value) {
    out.put('{');
    bool first = true;
    for (const auto& [key, entry] : value) {
      if (!first) out.put(',');
      first = false;
      json_text(out, key);
      out.put(':');
      json_default(out, entry);
    }
    out.put('}');
  }
  template <class Sink>
  static constexpr void write_type(Sink& out) {
    out.raw("\"type\":\"map\",\"element\":{");
    json_type<Sink, T>(out);
    out.put('}');
  }
  static void read(const Value& value, const FieldType& type, const std::string& path,
                   Diagnostics& diagnostics, Map<T>& out) {
    out.clear();
    for (const Value::Member& member : value.members()) {
      detail::read(member.value, type.element[0], joined_path(path, member.key), diagnostics,
                   out[member.key]);
    }
  }
  static Value write(const Map<T>& value, const Map<T>*) {
    Value table = Value::table();
    for (const auto& [key, entry] : value) table.set(key, detail::write<T>(entry, nullptr));
    return table;
  }
  static bool same(const Map<T>& a, const Map<T>& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, entry] : a) {
      const auto* other = b.find(key);
      if (other == nullptr || !detail::same(entry, *other)) return false;
    }
    return true;
  }
  static void complete(FieldType& type, Place) {
    complete_elements<T>(type.element[0], Place::element);
  }
};

// A field may be one, an element may not: it has no write_type.
template <class T>
struct FieldTraits<std::optional<T>> {
  using Optional = std::optional<T>;
  using Element = T;

  template <class Sink>
  static constexpr void write_json(Sink& out, const Optional& value) {
    value.has_value() ? json_default(out, *value) : out.raw("null");
  }
  static void read(const Value& value, const FieldType& type, const std::string& path,
                   Diagnostics& diagnostics, Optional& out) {
    if (value.is_null() || (is_none(value) && type.form != FieldType::Form::string)) {
      out.reset();
    } else {
      detail::read(value, type, path, diagnostics, out.emplace());
    }
  }
  static Value write(const Optional& value, const Optional* fallback) {
    if (value.has_value()) return detail::write<T>(*value, nullptr);
    return fallback != nullptr && fallback->has_value() ? Value("none") : Value();
  }
  static bool same(const Optional& a, const Optional& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || detail::same(*a, *b));
  }
  static void complete(FieldType& type, Place) { complete_elements<T>(type, Place::element); }
};

template <AnyConfigOf T>
struct FieldTraits<T> {
  template <class Sink>
  static constexpr void write_json(Sink& out, const T& value) {
    value.has_value() ? json_text(out, value.key()) : out.raw("null");
  }
  template <class Sink>
  static constexpr void write_type(Sink& out) {
    out.raw("\"type\":\"config\",\"kind\":");
    json_text(out, ConfigBase<T>::type::kKind);
  }
  static void read(const Value& value, const FieldType& type, const std::string& path, Diagnostics&,
                   T& out) {
    out = T(ConfigValue::from_value(value, type.kind, path));
  }
  static Value write(const T& value, const T* fallback) {
    if (value.has_value()) return value.to_value();
    return fallback == nullptr || fallback->has_value() ? Value("none") : Value();
  }
  static bool same(const T& a, const T& b) { return a == b; }
  static void complete(FieldType&, Place) {}
};

template <>
struct FieldTraits<Value> {
  template <class Sink>
  static constexpr void write_json(Sink& out, const Value&) {
    out.raw("null");
  }
  template <class Sink>
  static constexpr void write_type(Sink& out) {
    out.raw("\"type\":\"value\"");
  }
  static void read(const Value& value, const FieldType&, const std::string&, Diagnostics&,
                   Value& out) {
    out = value;
  }
  static Value write(const Value& value, const Value*) { return value; }
  static bool same(const Value& a, const Value& b) { return a == b; }
  static void complete(FieldType&, Place) {}
};

}  // namespace trivet::detail
