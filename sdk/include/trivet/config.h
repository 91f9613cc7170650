// SPDX-License-Identifier: Apache-2.0
// Config structs. A config is a plain struct with defaults and, beside it in the same namespace,
// one list of its fields. Everything else comes from that list: reading TOML, writing it,
// comparing, validation with locations and hints, `trivet explain`, JSON Schema, completion, and
// the schema that the plugin's file carries.
//
// Example (sdk/examples/snippets/config_struct.cpp#struct):
//
//   enum class Padding { same, valid };
//   TRIVET_ENUM(Padding, same, valid)
//
//   struct ConvConfig : trivet::LayerConfig {  // or no base struct at all
//     std::int64_t channels = 0;
//     std::vector<std::int64_t> kernel = {3, 3};
//     Padding padding = Padding::same;
//     trivet::ConfigOf<trivet::Layer> activation = "nn/Relu";
//   };
//   TRIVET_CONFIG(ConvConfig, trivet::LayerConfig,  // trivet::NoBase when there is none
//                 (channels, "Number of filters.", required, at_least(1)),
//                 (kernel, "Height and width of the window.", at_least(1)),
//                 (padding, "Padding at the border."), (activation, "Applied to the output."))
//
// Members may be bool, integers, float, double, std::string, enums listed by TRIVET_ENUM,
// trivet::Path, trivet::Duration, trivet::Interval, other config structs, ConfigOf<Base>,
// trivet::Value (anything goes), and std::vector, std::optional and trivet::Map of these. A struct
// must not contain itself: use ConfigOf. A member that is missing from the list, or that the
// list names twice, is a compile error. If a field name is a C++ keyword, append an underscore
// (`int_`); files use the name without it.
//
// After the doc string you may add
//   required                          the file must set it
//   at_least(x) more_than(x) at_most(x) less_than(x) between(low, high)
//                                     for numbers; of a list or map every element must comply
//   choices("a", "b")                 for strings
//   alias("old_name")                 still understood
//   adjustable                        may change when a run continues: no variable's meaning depends
//                                     on it
//   names_metric                      for a string of an action or of [xp] that names a number of a
//                                     run: in trainer.train_actions of training, else of an
//                                     evaluation; in [xp], "train/NAME" and "eval/NAME" say which.
//                                     trivet check refuses a name that the run will not give
//
// A run that continues with another config is refused where a layer, model, optimizer or trainer
// changed in a field that is not adjustable: dropout rates, learning rates and what is only
// measured or logged should be. Shapes are compared when weights are restored, so a field that
// changes them for some values alone may be adjustable. Fields of tasks and inputs may change
// unless they hold a layer or model. `adjustable` on a table, list or config counts for everything
// below it, but for layers, models, optimizers and trainers in there, which have marks of their
// own.
//
// A member `void validate(trivet::Diagnostics&) const` checks rules that span several fields (see
// Diagnostics in schema.h).
//
// Example (sdk/examples/snippets/config_struct.cpp#functions):
//
//   auto config = trivet::decode<ConvConfig>(value);  // throws ConfigError with all problems
//   trivet::Value back = trivet::encode(config);      // decodes to an equal config
//   bool same = trivet::equal(config, trivet::decode<ConvConfig>(back));
//   const trivet::Schema& schema = trivet::schema_of<ConvConfig>();
//
// All functions here may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "trivet/config/config_of.h"
#include "trivet/config/detail/codec.h"
#include "trivet/config/detail/describe.h"
#include "trivet/config/detail/for_each.h"
#include "trivet/config/detail/schema_json.h"
#include "trivet/config/field_types.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Fields that `value` (a table, or null for "all defaults") does not set keep their defaults.
// Throws ConfigError with every problem; `path` is the table's path in the whole config.
// ConfigOf members keep their fields undecoded.
template <class C>
C decode(const Value& value, std::string_view path) {
  const Schema& schema = detail::cached_schema<C>();
  Diagnostics diagnostics;
  validate(value, schema, nullptr, diagnostics, {.path = std::string(path)});
  diagnostics.throw_if_any();
  C config{};
  detail::read_struct(value, schema.fields, std::string(path), diagnostics, config);
  diagnostics.throw_if_any();
  return config;
}

// The same, with what the rules say added instead of thrown: the `validate` of C and of the structs
// in it. Nothing for a `value` that the schema refuses; validate() reports that.
template <class C>
std::optional<C> try_decode(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  const Schema& schema = detail::cached_schema<C>();
  Diagnostics refused;
  validate(value, schema, nullptr, refused, {.path = path});
  if (!refused.empty()) return std::nullopt;
  C config{};
  detail::read_struct(value, schema.fields, path, diagnostics, config);
  return config;
}

// Adds what the rules say, as try_decode() does.
template <class C>
void check_rules(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  try_decode<C>(value, path, diagnostics);
}

// The same for rules that stand elsewhere: `rules(config, problems)` speaks of the fields of
// `value`.
template <class C, class Rules>
void check_rules(const Value& value, const std::string& path, Diagnostics& diagnostics,
                 const Rules& rules) {
  const Schema& schema = detail::cached_schema<C>();
  Diagnostics refused;
  validate(value, schema, nullptr, refused, {.path = path});
  if (!refused.empty()) return;
  C config{};
  detail::read_struct(value, schema.fields, path, refused, config);
  const Diagnostics::Inside inside(diagnostics, path, value);
  rules(std::as_const(config), diagnostics);
}

// Every field; a null means an empty optional or ConfigOf, and may be left out of a file.
template <class C>
Value encode(const C& config) {
  const C defaults{};
  return detail::write<C>(config, &defaults);
}

// Field by field; NaN equals NaN.
template <detail::Described C>
bool equal(const C& a, const C& b) {
  return detail::same(a, b);
}

template <detail::Described C>
const Schema& schema_of() {
  return detail::cached_schema<C>();
}

// The schema as the note of a plugin holds it. A constant expression.
template <detail::Described C>
constexpr std::string_view schema_json() {
  return detail::SchemaText<C>::view();
}

}  // namespace trivet

// See the top of this file. The static_asserts compare the number of aggregate elements with the
// length of the list: as many `{}` must initialize the struct, one more must not.
#define TRIVET_CONFIG(Type, ...) TRIVET_CONFIG_WITH_(Type, __VA_ARGS__)
#define TRIVET_CONFIG_WITH_(Type, Base, ...)                                                      \
  [[maybe_unused]] constexpr ::std::string_view trivet_config_name(::trivet::detail::Tag<Type>) { \
    return #Type;                                                                                 \
  }                                                                                               \
  [[maybe_unused]] constexpr ::std::type_identity<Base> trivet_config_base(                       \
      ::trivet::detail::Tag<Type>) {                                                              \
    return {};                                                                                    \
  }                                                                                               \
  template <class TrivetVisitor>                                                                  \
  constexpr void trivet_visit_own_fields(::trivet::detail::Tag<Type>,                             \
                                         [[maybe_unused]] TrivetVisitor& trivet_visit) {          \
    using TrivetConfig [[maybe_unused]] = Type;                                                   \
    TRIVET_FOR_EACH(TRIVET_CONFIG_FIELD_, __VA_ARGS__)                                            \
  }                                                                                               \
  static_assert(::std::is_aggregate_v<Type>, #Type                                                \
                ": a config is a plain struct: no constructor, no private member, no "            \
                "virtual function");                                                              \
  static_assert(::std::same_as<Base, ::trivet::NoBase> ||                                         \
                    (::std::is_base_of_v<Base, Type> && ::trivet::detail::Described<Base>),       \
                #Type ": " #Base " is not its base struct, or has no TRIVET_CONFIG of its own");  \
  static_assert(                                                                                  \
      []<class TrivetType>() {                                                                    \
        if constexpr (::std::same_as<Base, ::trivet::NoBase>) {                                   \
          return requires {                                                                       \
            TrivetType{TRIVET_FOR_EACH(TRIVET_BRACES_, __VA_ARGS__)};                             \
          };                                                                                      \
        } else {                                                                                  \
          return requires {                                                                       \
            TrivetType{{}, TRIVET_FOR_EACH(TRIVET_BRACES_, __VA_ARGS__)};                         \
          };                                                                                      \
        }                                                                                         \
      }.template operator()<Type>(),                                                              \
      #Type ": a member is in the list twice, or a base struct is missing");                      \
  static_assert(                                                                                  \
      []<class TrivetType>() {                                                                    \
        if constexpr (::std::same_as<Base, ::trivet::NoBase>) {                                   \
          return !requires {                                                                      \
            TrivetType{TRIVET_FOR_EACH(TRIVET_BRACES_, __VA_ARGS__){}};                           \
          };                                                                                      \
        } else {                                                                                  \
          return !requires {                                                                      \
            TrivetType{{}, TRIVET_FOR_EACH(TRIVET_BRACES_, __VA_ARGS__){}};                       \
          };                                                                                      \
        }                                                                                         \
      }.template operator()<Type>(),                                                              \
      #Type ": a member or the base struct is missing from the list");                            \
  static_assert(::trivet::detail::has_distinct_names<Type>(),                                     \
                #Type ": two fields have the same name");

#define TRIVET_BRACES_(field) {},
#define TRIVET_CONFIG_FIELD_(field) TRIVET_CONFIG_FIELD_PARTS_ field
#define TRIVET_CONFIG_FIELD_PARTS_(member, ...)                \
  trivet_visit(                                                \
      #member, &TrivetConfig::member, +[] {                    \
        using ::trivet::attributes::adjustable;                \
        using ::trivet::attributes::alias;                     \
        using ::trivet::attributes::at_least;                  \
        using ::trivet::attributes::at_most;                   \
        using ::trivet::attributes::between;                   \
        using ::trivet::attributes::choices;                   \
        using ::trivet::attributes::less_than;                 \
        using ::trivet::attributes::more_than;                 \
        using ::trivet::attributes::names_metric;              \
        using ::trivet::attributes::required;                  \
        return ::trivet::detail::make_attributes(__VA_ARGS__); \
      });

// TRIVET_ENUM(Padding, same, valid) beside the enum lists every enumerator; a forgotten one is a
// compile error. If an enumerator's name is a C++ keyword, append an underscore (`default_`); files
// use the name without it.
#define TRIVET_ENUM(Enum, ...)                                                       \
  [[maybe_unused]] constexpr auto trivet_enum_entries(::trivet::detail::Tag<Enum>) { \
    using TrivetEnum = Enum;                                                         \
    return ::std::to_array<::std::pair<::std::string_view, TrivetEnum>>(             \
        {TRIVET_FOR_EACH(TRIVET_ENUM_ENTRY_, __VA_ARGS__)});                         \
  }                                                                                  \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wswitch\"")        \
      [[maybe_unused]] constexpr bool                                                \
      trivet_enum_is_listed(::trivet::detail::Tag<Enum>, Enum entry) {               \
    using TrivetEnum = Enum;                                                         \
    switch (entry) { TRIVET_FOR_EACH(TRIVET_ENUM_CASE_, __VA_ARGS__) }               \
    return false;                                                                    \
  }                                                                                  \
  _Pragma("GCC diagnostic pop")

#define TRIVET_ENUM_ENTRY_(name) {#name, TrivetEnum::name},
#define TRIVET_ENUM_CASE_(name) \
  case TrivetEnum::name:        \
    return true;
