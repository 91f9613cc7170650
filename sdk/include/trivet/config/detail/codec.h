// SPDX-License-Identifier: Apache-2.0
// Values to config structs and back, and comparison. validate(), which is not a template, has
// checked the values before; these functions only assign values to members.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/detail/schema_json.h"
#include "trivet/config/schema.h"

namespace trivet::detail {

// Schema of C, read once from the text that the compiler wrote.
template <Described C>
const Schema& cached_schema();

// The value of a field under its name or one of its old names.
TRIVET_API const Value* find_field(const Value& table, const Field& field) noexcept;

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

template <class T>
constexpr bool has_rules();

struct RuleFinder {
  bool found = false;

  template <class M, class B>
  constexpr void operator()(const char*, M B::*, MakeAttributes) {
    found = found || has_rules<M>();
  }
};

// Whether read() of a T asks a `validate`, its own or that of a struct in it.
template <class T>
constexpr bool has_rules() {
  if constexpr (ScalarField<T>) {
    return false;
  } else if constexpr (IsVector<T>::value || IsOptional<T>::value) {
    return has_rules<typename T::value_type>();
  } else if constexpr (IsMap<T>::value) {
    return has_rules<typename T::Entry::second_type>();
  } else if constexpr (requires(const T& c, Diagnostics& p) { c.validate(p); }) {
    return true;
  } else if constexpr (Described<T>) {
    RuleFinder finder;
    visit_fields<T>(finder);
    return finder.found;
  } else {
    return false;
  }
}

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
  } else {
    FieldTraits<T>::read(value, type, path, diagnostics, out);
  }
}

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
  } else {
    return FieldTraits<T>::write(value, fallback);
  }
}

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
  } else if constexpr (ScalarField<T>) {
    return a == b;
  } else {
    return FieldTraits<T>::same(a, b);
  }
}

struct ElementsOfFields {
  std::vector<Field>& fields;
  std::size_t index = 0;

  template <class M, class B>
  void operator()(const char*, M B::*, MakeAttributes) {
    complete_elements<M>(fields[index++].type, Place::field);
  }
};

template <class T>
void complete_elements(FieldType& type, Place place) {
  if constexpr (!ScalarField<T>) FieldTraits<T>::complete(type, place);
}

template <Described C>
struct FieldTraits<C> {
  template <class Sink>
  static constexpr void write_json(Sink& out, const C& value) {
    out.put('{');
    DefaultsWriter<Sink, C> writer{out, value};
    visit_fields<C>(writer);
    out.put('}');
  }
  template <class Sink>
  static constexpr void write_type(Sink& out) {
    json_struct<Sink, C>(out);
    json_own_fields<Sink, C>(out);
  }
  static void read(const Value& value, const FieldType& type, const std::string& path,
                   Diagnostics& diagnostics, C& out) {
    read_struct(value, type.fields, path, diagnostics, out);
  }
  static Value write(const C& value, const C* fallback) {
    Value table = Value::table();
    const C defaults{};
    FieldEncoder<C> encoder{value, fallback != nullptr ? *fallback : defaults, table};
    visit_fields<C>(encoder);
    return table;
  }
  static bool same(const C& a, const C& b) {
    FieldComparer<C> comparer{a, b};
    visit_fields<C>(comparer);
    return comparer.equal;
  }
  static void complete(FieldType& type, Place place) {
    if (place == Place::element) {
      type.fields = cached_schema<C>().fields;
    } else {
      ElementsOfFields elements{type.fields};
      visit_fields<C>(elements);
    }
  }
};

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
