// SPDX-License-Identifier: Apache-2.0
// The schema of a config struct as JSON, written by the compiler. This text goes into the note of a
// plugin's file and is what schema_of<C>() reads, so there is one description only.
//
//   {"name":"LinearConfig","fields":[
//     {"name":"dims","type":"integer","doc":"...","required":true,"default":0,
//      "low":"3ff0000000000000"}, ...]}
//
// A field without "default" has one that the compiler could not evaluate.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "trivet/config/detail/describe.h"
#include "trivet/config/detail/field_containers.h"
#include "trivet/config/detail/field_traits.h"
#include "trivet/config/detail/json_sink.h"

namespace trivet::detail {

template <class Sink, class C>
struct DefaultsWriter {
  Sink& out;
  const C& config;
  bool first = true;

  constexpr void operator()(const char* name, auto member, MakeAttributes) {
    if (!first) out.put(',');
    first = false;
    json_text(out, name_in_files(name));
    out.put(':');
    json_default(out, config.*member);
  }
};

// A default value; the reader knows the type, so numbers need no mark.
template <class Sink, class T>
constexpr void json_default(Sink& out, const T& value) {
  FieldTraits<T>::write_json(out, value);
}

template <class Sink, Described C>
constexpr void json_fields(Sink& out, const C* defaults);

template <class Sink, Described C>
constexpr void json_own_fields(Sink& out) {
  if constexpr (kConstantDefault<C>) {
    C defaults{};  // not const: g++ 12 refuses a const object with a std::string here
    json_fields<Sink, C>(out, &defaults);
  } else {
    json_fields<Sink, C>(out, nullptr);
  }
}

template <class T>
inline constexpr bool kUnsupported = false;

// The start of a nested struct's type; its fields follow.
template <class Sink, Described T>
constexpr void json_struct(Sink& out) {
  out.raw("\"type\":\"table\",\"struct\":");
  json_text(out, trivet_config_name(Tag<T>{}));
  out.raw(",\"fields\":");
}

// The keys that describe a type, without braces. A struct is described with its own defaults.
template <class Sink, class T>
constexpr void json_type(Sink& out) {
  if constexpr (ScalarField<T>) {
    out.raw("\"type\":");
    json_text(out, FieldTraits<T>::kForm);
    if constexpr (requires { FieldTraits<T>::write_limits(out); }) {
      FieldTraits<T>::write_limits(out);
    }
  } else if constexpr (requires { FieldTraits<T>::write_type(out); }) {
    FieldTraits<T>::write_type(out);
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(kUnsupported<T>, "a config member is an enum without a TRIVET_ENUM list");
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    static_assert(kUnsupported<T>, "a config member is a struct without a TRIVET_CONFIG list");
  } else {
    static_assert(
        kUnsupported<T>,
        "a config member has a type without a TOML form. There are: bool, integers, "
        "float, double, std::string, enums with TRIVET_ENUM, those of trivet/config/field_types.h, "
        "structs with TRIVET_CONFIG, trivet::ConfigOf<Base>, trivet::Value, and std::vector, "
        "std::optional and trivet::Map of these");
  }
}

// The type that the bounds and choices of a field apply to.
template <class T>
struct Innermost {
  using type = T;
};
template <class T>
requires requires {
  typename FieldTraits<T>::Element;
}
struct Innermost<T> : Innermost<typename FieldTraits<T>::Element> {};

template <class T>
constexpr bool has_bounds() {
  if constexpr (ScalarField<T>) return FieldTraits<T>::kHasBounds;
  return false;
}

// Not constexpr, so that the compiler stops at them and shows their names.
inline void error_bounds_are_for_numbers() {}
inline void error_choices_are_for_strings() {}
inline void error_names_metric_is_for_a_string() {}

template <class Sink, Described C>
struct FieldsWriter {
  Sink& out;
  const C* defaults;
  bool first = true;

  template <class M, class B>
  constexpr void operator()(const char* name, M B::*member, MakeAttributes make) {
    const Attributes given = make();
    using Inner = typename Innermost<M>::type;
    if ((given.low || given.high) && !has_bounds<Inner>()) error_bounds_are_for_numbers();
    if (given.choice_count > 0 && !std::same_as<Inner, std::string>) {
      error_choices_are_for_strings();
    }
    if (given.names_metric && !std::same_as<M, std::string>) error_names_metric_is_for_a_string();
    if (!first) out.put(',');
    first = false;
    out.raw("{\"name\":");
    json_text(out, name_in_files(name));
    out.put(',');
    write_type<M>(defaults != nullptr ? &(defaults->*member) : nullptr);
    out.raw(",\"doc\":");
    json_text(out, given.doc);
    write_attributes(given);
    if (defaults != nullptr && !Described<M>) {
      out.raw(",\"default\":");
      json_default(out, defaults->*member);
    }
    out.put('}');
  }

 private:
  template <class M>
  constexpr void write_type([[maybe_unused]] const M* value) {
    if constexpr (IsOptional<M>::value) {
      json_type<Sink, typename M::value_type>(out);
      out.raw(",\"optional\":true");
    } else if constexpr (Described<M>) {
      // Where this struct's defaults are unknown, the nested struct's own are no substitute: this
      // one may set others.
      json_struct<Sink, M>(out);
      json_fields<Sink, M>(out, value);
    } else {
      json_type<Sink, M>(out);
    }
  }

  constexpr void write_bound(const char* key, std::optional<double> bound, bool open) {
    if (!bound) return;
    out.raw(",\"");
    out.raw(key);
    out.raw("\":");
    json_double(out, *bound);
    if (!open) return;
    out.raw(",\"");
    out.raw(key);
    out.raw("_open\":true");
  }

  constexpr void write_names(const char* key, const auto& names, std::size_t count) {
    if (count == 0) return;
    out.raw(",\"");
    out.raw(key);
    out.raw("\":[");
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out.put(',');
      json_text(out, names[i]);
    }
    out.put(']');
  }

  constexpr void write_attributes(const Attributes& given) {
    if (given.required) out.raw(",\"required\":true");
    if (given.adjustable) out.raw(",\"adjustable\":true");
    if (given.names_metric) out.raw(",\"names_metric\":true");
    write_bound("low", given.low, given.low_open);
    write_bound("high", given.high, given.high_open);
    write_names("allowed", given.choices, given.choice_count);
    write_names("aliases", given.aliases, given.alias_count);
  }
};

template <class Sink, Described C>
constexpr void json_fields(Sink& out, const C* defaults) {
  out.put('[');
  FieldsWriter<Sink, C> writer{out, defaults};
  visit_fields<C>(writer);
  out.put(']');
}

template <class Sink, Described C>
constexpr void json_schema(Sink& out) {
  out.raw("{\"name\":");
  json_text(out, trivet_config_name(Tag<C>{}));
  out.raw(",\"fields\":");
  json_own_fields<Sink, C>(out);
  out.put('}');
}

template <Described C>
struct SchemaText {
  static constexpr std::size_t size() {
    CountingSink sink;
    json_schema<CountingSink, C>(sink);
    return sink.size;
  }
  static constexpr auto write() {
    std::array<char, size()> text{};
    WritingSink sink{text.data()};
    json_schema<WritingSink, C>(sink);
    return text;
  }
  static constexpr auto kText = write();
  static constexpr std::string_view view() { return {kText.data(), kText.size()}; }
};

}  // namespace trivet::detail
