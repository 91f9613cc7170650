// SPDX-License-Identifier: Apache-2.0
// What TRIVET_CONFIG and TRIVET_ENUM leave behind for the templates that read it: functions found
// by argument-dependent lookup through Tag<Type>. A pointer to the struct would not do: it converts
// to its base, and a struct without a list would pass for its base.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trivet/config/config_of.h"
#include "trivet/config/detail/field_traits.h"
#include "trivet/config/field_types.h"
#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

// The name for "no base struct" in TRIVET_CONFIG.
struct NoBase {};

namespace detail {

// The words after the member in the list.
struct Attributes {
  static constexpr std::size_t kMaxChoices = 16;
  static constexpr std::size_t kMaxAliases = 4;

  std::string_view doc;
  bool required = false;
  bool adjustable = false;
  bool names_metric = false;
  std::optional<double> low, high;
  bool low_open = false, high_open = false;
  std::array<std::string_view, kMaxChoices> choices{};
  std::size_t choice_count = 0;
  std::array<std::string_view, kMaxAliases> aliases{};
  std::size_t alias_count = 0;
};

struct Required {
  constexpr void apply(Attributes& to) const { to.required = true; }
};
struct Adjustable {
  constexpr void apply(Attributes& to) const { to.adjustable = true; }
};
struct NamesMetric {
  constexpr void apply(Attributes& to) const { to.names_metric = true; }
};
struct Low {
  double bound;
  bool open;
  constexpr void apply(Attributes& to) const { to.low = bound, to.low_open = open; }
};
struct High {
  double bound;
  bool open;
  constexpr void apply(Attributes& to) const { to.high = bound, to.high_open = open; }
};
struct Between {
  double low, high;
  constexpr void apply(Attributes& to) const { to.low = low, to.high = high; }
};
struct Alias {
  std::string_view name;
  constexpr void apply(Attributes& to) const { to.aliases[to.alias_count++] = name; }
};
template <std::size_t N>
struct Choices {
  static_assert(N <= Attributes::kMaxChoices, "too many choices: use an enum");
  std::array<std::string_view, N> names;
  constexpr void apply(Attributes& to) const {
    for (const std::string_view name : names) to.choices[to.choice_count++] = name;
  }
};

template <class... A>
constexpr Attributes make_attributes(std::string_view doc, const A&... given) {
  Attributes attributes;
  attributes.doc = doc;
  (given.apply(attributes), ...);
  return attributes;
}

}  // namespace detail

// The words after a member in TRIVET_CONFIG, where they need no qualification.
namespace attributes {

[[maybe_unused]] inline constexpr detail::Required required{};
[[maybe_unused]] inline constexpr detail::Adjustable adjustable{};
[[maybe_unused]] inline constexpr detail::NamesMetric names_metric{};
constexpr detail::Low at_least(double bound) {
  return {bound, false};
}
constexpr detail::Low more_than(double bound) {
  return {bound, true};
}
constexpr detail::High at_most(double bound) {
  return {bound, false};
}
constexpr detail::High less_than(double bound) {
  return {bound, true};
}
constexpr detail::Between between(double low, double high) {
  return {low, high};
}
constexpr detail::Alias alias(std::string_view old_name) {
  return {old_name};
}
template <class... S>
constexpr detail::Choices<sizeof...(S)> choices(const S&... names) {
  return {{std::string_view(names)...}};
}

}  // namespace attributes

namespace detail {

template <class E>
concept DescribedEnum = std::is_enum_v<E> && requires {
  trivet_enum_entries(Tag<E>{});
};

// Members and enumerators that would be C++ words end with an underscore, which their names in
// files lack.
constexpr std::string_view name_in_files(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

template <DescribedEnum E>
struct FieldTraits<E> {
  static constexpr std::string_view kForm = "choice";
  static constexpr bool kHasBounds = false;
  template <class Sink>
  static constexpr void write_json(Sink& out, E value) {
    for (const auto& [text, entry] : trivet_enum_entries(Tag<E>{})) {
      if (entry == value) return json_text(out, name_in_files(text));
    }
    out.raw("null");
  }
  template <class Sink>
  static constexpr void write_limits(Sink& out) {
    out.raw(",\"choices\":[");
    bool first = true;
    for (const auto& entry : trivet_enum_entries(Tag<E>{})) {
      if (!first) out.put(',');
      first = false;
      json_text(out, name_in_files(entry.first));
    }
    out.put(']');
  }
  static E read(const Value& value) {
    E found{};
    for (const auto& [text, entry] : trivet_enum_entries(Tag<E>{})) {
      if (name_in_files(text) == value.as_string()) found = entry;
    }
    return found;
  }
  static Value write(E value) {
    for (const auto& [text, entry] : trivet_enum_entries(Tag<E>{})) {
      if (entry == value) return std::string(name_in_files(text));
    }
    throw Error("an enum in a config holds a number without a name");
  }
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<Map<T>> : std::true_type {};
template <class T>
struct ConfigBase;
template <class B>
struct ConfigBase<ConfigOf<B>> {
  using type = B;
};

template <class T>
concept AnyConfigOf = std::derived_from<T, ConfigValue>;

// A function, not the lambda it comes from: visitors are instantiated once for all members of a
// type.
using MakeAttributes = Attributes (*)();

// Calls visit(name, member pointer, MakeAttributes) for every field, those of the base first.
template <Described C, class Visitor>
constexpr void visit_fields(Visitor& visit) {
  using Base = typename decltype(trivet_config_base(Tag<C>{}))::type;
  if constexpr (!std::same_as<Base, NoBase>) visit_fields<Base>(visit);
  trivet_visit_own_fields(Tag<C>{}, visit);
}

struct FieldCounter {
  std::size_t count = 0;
  constexpr void operator()(const char*, auto, MakeAttributes) { ++count; }
};
template <Described C>
constexpr std::size_t field_count() {
  FieldCounter counter;
  visit_fields<C>(counter);
  return counter.count;
}

template <std::size_t N>
struct NameCollector {
  std::array<std::string_view, N> names{};
  std::size_t count = 0;
  constexpr void operator()(const char* name, auto, MakeAttributes) {
    names[count++] = name_in_files(name);
  }
};
template <Described C>
constexpr bool has_distinct_names() {
  NameCollector<field_count<C>()> collected;
  visit_fields<C>(collected);
  for (std::size_t i = 0; i < collected.count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (collected.names[i] == collected.names[j]) return false;
    }
  }
  return true;
}
template <Described C>
constexpr bool has_field(std::string_view name) {
  NameCollector<field_count<C>()> collected;
  visit_fields<C>(collected);
  for (const std::string_view field : collected.names) {
    if (field == name) return true;
  }
  return false;
}

// Whether T{} can be evaluated by the compiler. clang 14 with libstdc++ 12 cannot make a
// std::string.
template <class T>
constexpr bool make_default() {
  [[maybe_unused]] T value{};
  return true;
}
template <class T, bool = make_default<T>()>
constexpr bool probe_default(int) {
  return true;
}
template <class T>
constexpr bool probe_default(...) {
  return false;
}
template <class T>
inline constexpr bool kConstantDefault = probe_default<T>(0);

}  // namespace detail
}  // namespace trivet
