// SPDX-License-Identifier: Apache-2.0
//
// Values to config structs and back, and comparison. validate(), which is not a template, has
// checked the values before; these functions only assign values to members.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/detail/schema_json.h"

namespace trivet::detail {

// Schema of C, read once from the text that the compiler wrote.
template <Described C>
const Schema& cached_schema();

// "none" is an empty ConfigOf or optional whose default is not empty.
TRIVET_API bool is_none(const Value& value) noexcept;
// The value of a field under its name or one of its old names.
TRIVET_API const Value* find_field(const Value& table, const Field& field) noexcept;

template <class T>
void read(const Value& value, const FieldType& type, const std::string& path,
          Diagnostics& diagnostics, T& out);

template <Described C>
struct FieldReader {
  const Value& table;
  const std::vector<Field>& fields;
  const std::string& path;
  Diagnostics& diagnostics;
  C& config;
  std::size_t index = 0;

  template <class M, class B>
  void operator()(const char*, M B::*member, MakeAttributes) {
    const Field& field = fields[index++];
    const Value* value = find_field(table, field);
    if (value == nullptr) return;
    read(*value, field.type, joined_path(path, field.name), diagnostics, config.*member);
  }
};

template <Described C>
void read_struct(const Value& table, const std::vector<Field>& fields, const std::string& path,
                 Diagnostics& diagnostics, C& config) {
  FieldReader<C> reader{table, fields, path, diagnostics, config};
  visit_fields<C>(reader);
  if constexpr (requires(const C& c, Diagnostics& p) { c.validate(p); }) {
    const Diagnostics::Inside inside(diagnostics, path, table);
    config.validate(diagnostics);
  }
}

template <class T>
void read(const Value& value, const FieldType& type, const std::string& path,
          Diagnostics& diagnostics, T& out) {
  if constexpr (ScalarField<T>) {
    out = FieldTraits<T>::read(value);
  } else if constexpr (IsVector<T>::value) {
    out.clear();
    std::size_t index = 0;
    for (const Value& item : value.items()) {
      typename T::value_type element{};
      read(item, type.element[0], joined_path(path, index++), diagnostics, element);
      out.push_back(std::move(element));
    }
  } else if constexpr (IsMap<T>::value) {
    out.clear();
    for (const Value::Member& member : value.members()) {
      read(member.value, type.element[0], joined_path(path, member.key), diagnostics,
           out[member.key]);
    }
  } else if constexpr (IsOptional<T>::value) {
    if (value.is_null() || (is_none(value) && type.form != FieldType::Form::string)) {
      out.reset();
    } else {
      read(value, type, path, diagnostics, out.emplace());
    }
  } else if constexpr (AnyConfigOf<T>) {
    out = T(ConfigValue::from_value(value, type.kind, path));
  } else if constexpr (std::same_as<T, Value>) {
    out = value;
  } else {
    read_struct(value, type.fields, path, diagnostics, out);
  }
}

template <class T>
Value write(const T& value, const T* fallback);

template <Described C>
struct FieldEncoder {
  const C& config;
  const C& defaults;
  Value& table;

  template <class M, class B>
  void operator()(const char* name, M B::*member, MakeAttributes) {
    table.set(name_in_files(name), write<M>(config.*member, &(defaults.*member)));
  }
};

// `fallback` is what an absent value would mean, where that is known.
template <class T>
Value write(const T& value, const T* fallback) {
  if constexpr (ScalarField<T>) {
    return FieldTraits<T>::write(value);
  } else if constexpr (IsVector<T>::value) {
    Value items = Value::array();
    for (std::size_t i = 0; i < value.size(); ++i) {
      items.push_back(write<typename T::value_type>(value[i], nullptr));
    }
    return items;
  } else if constexpr (IsMap<T>::value) {
    Value table = Value::table();
    for (const auto& [key, entry] : value) {
      table.set(key, write<typename T::Entry::second_type>(entry, nullptr));
    }
    return table;
  } else if constexpr (IsOptional<T>::value) {
    if (value.has_value()) return write<typename T::value_type>(*value, nullptr);
    return fallback != nullptr && fallback->has_value() ? Value("none") : Value();
  } else if constexpr (AnyConfigOf<T>) {
    if (value.has_value()) return value.to_value();
    return fallback == nullptr || fallback->has_value() ? Value("none") : Value();
  } else if constexpr (Described<T>) {
    Value table = Value::table();
    const T defaults{};
    FieldEncoder<T> encoder{value, fallback != nullptr ? *fallback : defaults, table};
    visit_fields<T>(encoder);
    return table;
  } else {
    return value;
  }
}

template <class T>
bool same(const T& a, const T& b);

template <Described C>
struct FieldComparer {
  const C& a;
  const C& b;
  bool equal = true;

  void operator()(const char*, auto member, MakeAttributes) {
    equal = equal && same(a.*member, b.*member);
  }
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::floating_point<T>) {
    return a == b || (a != a && b != b);  // two NaN are equal here; <cmath> would cost every plugin
  } else if constexpr (IsVector<T>::value) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same<typename T::value_type>(a[i], b[i])) return false;
    }
    return true;
  } else if constexpr (IsMap<T>::value) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, entry] : a) {
      const auto* other = b.find(key);
      if (other == nullptr || !same(entry, *other)) return false;
    }
    return true;
  } else if constexpr (IsOptional<T>::value) {
    return a.has_value() == b.has_value() && (!a.has_value() || same(*a, *b));
  } else if constexpr (Described<T>) {
    FieldComparer<T> comparer{a, b};
    visit_fields<T>(comparer);
    return comparer.equal;
  } else {
    return a == b;
  }
}

template <class T>
void complete_elements(FieldType& type, bool is_element);

struct ElementsOfFields {
  std::vector<Field>& fields;
  std::size_t index = 0;

  template <class M, class B>
  void operator()(const char*, M B::*, MakeAttributes) {
    complete_elements<M>(fields[index++].type, false);
  }
};

// A table in a list, a map or an optional begins as its own struct does, so its unknown defaults
// come from there; those of a table that is a field come from the struct around it.
template <class T>
void complete_elements(FieldType& type, bool is_element) {
  if constexpr (IsVector<T>::value) {
    complete_elements<typename T::value_type>(type.element[0], true);
  } else if constexpr (IsMap<T>::value) {
    complete_elements<typename T::Entry::second_type>(type.element[0], true);
  } else if constexpr (IsOptional<T>::value) {
    complete_elements<typename T::value_type>(type, true);
  } else if constexpr (Described<T>) {
    if (is_element) {
      type.fields = cached_schema<T>().fields;
    } else {
      ElementsOfFields elements{type.fields};
      visit_fields<T>(elements);
    }
  }
}

template <Described C>
const Schema& cached_schema() {
  static const Schema schema = [] {
    Schema read = schema_from_json(SchemaText<C>::view());
    if constexpr (!kConstantDefault<C>) complete_defaults(read, write<C>(C{}, nullptr));
    ElementsOfFields elements{read.fields};
    visit_fields<C>(elements);
    return read;
  }();
  return schema;
}

}  // namespace trivet::detail
