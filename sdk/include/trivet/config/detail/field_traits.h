// SPDX-License-Identifier: Apache-2.0
// FieldTraits<T>: how a C++ type that is one value in a file becomes a field of a config. Lists,
// maps, tables and ConfigOf, which are made of these, have theirs in field_containers.h and
// codec.h.
//
// Example (sdk/examples/snippets/field_type.cpp#traits):
//
//   template <>
//   struct FieldTraits<acme::Label> {
//     static constexpr std::string_view kForm = "string";  // the name of its FieldType::Form
//     static constexpr bool kHasBounds = false;            // takes at_least and so on
//     // Writes a default into the schema of a note.
//     template <class Sink>
//     static constexpr void write_json(Sink& out, const acme::Label& value) {
//       json_text(out, value.text);
//     }
//     // validate() has seen that the value has the form.
//     static acme::Label read(const Value& value) { return {value.as_string()}; }
//     static Value write(const acme::Label& value) { return value.text; }
//   };
//
// A type may have `write_limits(Sink&)`, further members of its type in a schema.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "trivet/config/detail/json_sink.h"
#include "trivet/config/value.h"

namespace trivet::detail {

template <class T>
struct FieldTraits;

template <class T>
concept ScalarField = requires {
  FieldTraits<T>::kForm;
};

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                  !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                  !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <>
struct FieldTraits<bool> {
  static constexpr std::string_view kForm = "boolean";
  static constexpr bool kHasBounds = false;
  template <class Sink>
  static constexpr void write_json(Sink& out, bool value) {
    out.raw(value ? "true" : "false");
  }
  static bool read(const Value& value) { return value.as_boolean(); }
  static Value write(bool value) { return value; }
};

template <Integer T>
struct FieldTraits<T> {
  static constexpr std::string_view kForm = "integer";
  static constexpr bool kHasBounds = true;
  template <class Sink>
  static constexpr void write_json(Sink& out, T value) {
    json_integer(out, static_cast<std::int64_t>(value));
  }
  template <class Sink>
  static constexpr void write_limits(Sink& out) {
    if constexpr (sizeof(T) < 8 || std::is_unsigned_v<T>) {
      constexpr auto kTop = std::numeric_limits<std::int64_t>::max();
      out.raw(",\"lowest\":");
      json_integer(out, static_cast<std::int64_t>(std::numeric_limits<T>::min()));
      out.raw(",\"highest\":");
      json_integer(out,
                   sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max()) : kTop);
    }
  }
  static T read(const Value& value) { return static_cast<T>(value.as_integer()); }
  static Value write(T value) { return value; }
};

template <class T>
requires std::same_as<T, float> || std::same_as<T, double>
struct FieldTraits<T> {
  static constexpr std::string_view kForm = "float";
  static constexpr bool kHasBounds = true;
  template <class Sink>
  static constexpr void write_json(Sink& out, T value) {
    json_double(out, value);
  }
  template <class Sink>
  static constexpr void write_limits(Sink& out) {
    if constexpr (sizeof(T) == 4) out.raw(",\"single\":true");
  }
  static T read(const Value& value) { return static_cast<T>(value.as_float()); }
  static Value write(T value) { return value; }
};

template <>
struct FieldTraits<std::string> {
  static constexpr std::string_view kForm = "string";
  static constexpr bool kHasBounds = false;
  template <class Sink>
  static constexpr void write_json(Sink& out, const std::string& value) {
    json_text(out, value);
  }
  static std::string read(const Value& value) { return value.as_string(); }
  static Value write(const std::string& value) { return value; }
};

}  // namespace trivet::detail
