// SPDX-License-Identifier: Apache-2.0
//
// The schema of a config struct as JSON, written by the compiler. This text goes into the note of a
// plugin's file and is what schema_of<C>() reads, so there is one description only.
//
//   {"name":"LinearConfig","fields":[
//     {"name":"dims","type":"integer","doc":"...","required":true,"default":0,
//      "low":"3ff0000000000000"}, ...]}
//
// Doubles are written as the 16 hexadecimal digits of their bits: exact, and there is no constexpr
// to_chars for them. A field without "default" has one that the compiler could not evaluate.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "trivet/detail/describe.h"

namespace trivet::detail {

// Two passes: one counts, one writes into an array of that size.
struct CountingSink {
  std::size_t size = 0;
  constexpr void put(char) { ++size; }
  constexpr void raw(std::string_view text) { size += text.size(); }
};

struct WritingSink {
  char* at;
  constexpr void put(char c) { *at++ = c; }
  constexpr void raw(std::string_view text) {
    for (const char c : text) *at++ = c;
  }
};

template <class Sink>
constexpr void json_text(Sink& out, std::string_view text) {
  out.put('"');
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.put('\\');
      out.put(c);
    } else if (code < 0x20) {
      out.raw("\\u00");
      out.put("0123456789abcdef"[code >> 4]);
      out.put("0123456789abcdef"[code & 15]);
    } else {
      out.put(c);
    }
  }
  out.put('"');
}

template <class Sink>
constexpr void json_integer(Sink& out, std::int64_t value) {
  char digits[20]{};
  std::size_t count = 0;
  auto rest = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) out.put('-');
  while (count > 0) out.put(digits[--count]);
}

template <class Sink>
constexpr void json_double(Sink& out, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  out.put('"');
  for (int shift = 60; shift >= 0; shift -= 4) out.put("0123456789abcdef"[(bits >> shift) & 15]);
  out.put('"');
}

template <class Sink, class T>
constexpr void json_default(Sink& out, const T& value);

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
  if constexpr (std::same_as<T, bool>) {
    out.raw(value ? "true" : "false");
  } else if constexpr (Integer<T>) {
    json_integer(out, static_cast<std::int64_t>(value));
  } else if constexpr (std::floating_point<T>) {
    json_double(out, value);
  } else if constexpr (std::same_as<T, std::string>) {
    json_text(out, value);
  } else if constexpr (std::same_as<T, Path>) {
    json_text(out, value.text);
  } else if constexpr (std::same_as<T, Duration>) {
    json_double(out, value.seconds);
  } else if constexpr (std::same_as<T, Interval>) {
    // An integer for steps, the bits of a number for seconds.
    value.is_time() ? json_double(out, value.time.seconds) : json_integer(out, value.steps);
  } else if constexpr (DescribedEnum<T>) {
    for (const auto& [text, entry] : trivet_enum_entries(Tag<T>{})) {
      if (entry == value) return json_text(out, name_in_files(text));
    }
    out.raw("null");
  } else if constexpr (IsVector<T>::value) {
    out.put('[');
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out.put(',');
      json_default<Sink, typename T::value_type>(out, value[i]);
    }
    out.put(']');
  } else if constexpr (IsMap<T>::value) {
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
  } else if constexpr (IsOptional<T>::value) {
    value.has_value() ? json_default(out, *value) : out.raw("null");
  } else if constexpr (AnyConfigOf<T>) {
    value.has_value() ? json_text(out, value.key()) : out.raw("null");
  } else if constexpr (Described<T>) {
    out.put('{');
    DefaultsWriter<Sink, T> writer{out, value};
    visit_fields<T>(writer);
    out.put('}');
  } else {
    out.raw("null");
  }
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
  if constexpr (!Described<T>) out.raw("\"type\":");
  if constexpr (std::same_as<T, bool>) {
    out.raw("\"boolean\"");
  } else if constexpr (Integer<T>) {
    out.raw("\"integer\"");
    if constexpr (sizeof(T) < 8 || std::is_unsigned_v<T>) {
      out.raw(",\"lowest\":");
      json_integer(out, static_cast<std::int64_t>(std::numeric_limits<T>::min()));
      out.raw(",\"highest\":");
      constexpr auto kTop = std::numeric_limits<std::int64_t>::max();
      json_integer(out,
                   sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max()) : kTop);
    }
  } else if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
    out.raw("\"number\"");
    if constexpr (sizeof(T) == 4) out.raw(",\"single\":true");
  } else if constexpr (std::same_as<T, std::string>) {
    out.raw("\"text\"");
  } else if constexpr (std::same_as<T, Path>) {
    out.raw("\"path\"");
  } else if constexpr (std::same_as<T, Duration>) {
    out.raw("\"duration\"");
  } else if constexpr (std::same_as<T, Interval>) {
    out.raw("\"interval\"");
  } else if constexpr (DescribedEnum<T>) {
    out.raw("\"choice\",\"choices\":[");
    bool first = true;
    for (const auto& entry : trivet_enum_entries(Tag<T>{})) {
      if (!first) out.put(',');
      first = false;
      json_text(out, name_in_files(entry.first));
    }
    out.put(']');
  } else if constexpr (IsVector<T>::value) {
    using Element = typename T::value_type;
    out.raw("\"list\",\"element\":{");
    json_type<Sink, Element>(out);
    out.put('}');
  } else if constexpr (IsMap<T>::value) {
    using Element = typename T::Entry::second_type;
    out.raw("\"map\",\"element\":{");
    json_type<Sink, Element>(out);
    out.put('}');
  } else if constexpr (AnyConfigOf<T>) {
    out.raw("\"config\",\"kind\":");
    json_text(out, ConfigBase<T>::type::kKind);
  } else if constexpr (std::same_as<T, Value>) {
    out.raw("\"value\"");
  } else if constexpr (Described<T>) {
    json_struct<Sink, T>(out);
    json_own_fields<Sink, T>(out);
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(kUnsupported<T>, "a config member is an enum without a TRIVET_ENUM list");
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    static_assert(kUnsupported<T>, "a config member is a struct without a TRIVET_CONFIG list");
  } else {
    static_assert(
        kUnsupported<T>,
        "a config member has a type without a TOML form. There are: bool, integers, "
        "float, double, std::string, enums with TRIVET_ENUM, trivet::Path, "
        "trivet::Duration, trivet::Interval, structs with TRIVET_CONFIG, trivet::ConfigOf<Base>, "
        "trivet::Value, and std::vector, std::optional and trivet::Map of these");
  }
}

template <class T>
struct Innermost {
  using type = T;
};
template <class T>
struct Innermost<std::optional<T>> : Innermost<T> {};
template <class T>
struct Innermost<std::vector<T>> : Innermost<T> {};
template <class T>
struct Innermost<Map<T>> : Innermost<T> {};

template <class T>
concept Numeric =
    Integer<T> || std::floating_point<T> || std::same_as<T, Duration> || std::same_as<T, Interval>;

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
    if ((given.low || given.high) && !Numeric<Inner>) error_bounds_are_for_numbers();
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
