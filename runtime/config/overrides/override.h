// SPDX-License-Identifier: Apache-2.0
//
// Overrides: single values changed on the command line.
//
//   trainer.train_steps=500      sets; the field's type decides how the text is read, so a string
//                                field takes it raw and a list is written [1, 2]
//   task.model.layers[2].dims=8  reaches into lists
//   task.model=vision/Cnn        another type starts its table afresh, the one that is there keeps it
//   trainer.optimizer={type = "optim/Sgd", momentum = 0.9}   instead of the table that is there;
//                                without a type, the type stays
//   **.dropout=0.1               every location with that name, *_input.batch_size=8 within one level
//   +xp.note=x                   adds a key to a free table
//   ~trainer.gradient_clip.norm  takes a value out: its default counts again
//
// Numbers may be written as in YAML (.5, 1.e-3; 1e5 where an integer is wanted), booleans also as
// True and False; null and None are "none" where a value may be left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// The "file" in the origins of values from the command line; line is the number of the override,
// column the location in the text that the user wrote, which is in `note`.
inline constexpr const char* kCommandLine = "command line";

struct Override {
  std::string text;        // "a.b=v"
  std::string shown;       // as the user wrote it: "--cfg.a.b=v"
  std::size_t offset = 0;  // of `text` in `shown`
  // For text that was put together: what is at `value_at` or behind it in `text` stands this much
  // further on in `shown`.
  std::size_t value_at = 0, value_shift = 0;
  // One that was read already; `text` is then PATH= alone, the path stands at `offset` in `shown`
  // and the value `value_shift` behind.
  std::optional<Value> value{};
  bool is_bare = false;   // an option without '=': true, where true or false is wanted
  bool is_lower = false;  // gives way to an override of the same path that is not
};
inline Override make_override(std::string text) {
  return {.text = text, .shown = text};
}

// One step of a path as written, with globs.
struct OverrideStep {
  enum class Kind { name, index, name_glob, any_index, any_depth };
  Kind kind = Kind::name;
  std::string name{};
  std::size_t index = 0;
  std::size_t at = 0;  // offset in the override's text
};

// An override taken apart. Throws ConfigError with the location of the mistake.
struct ParsedOverride {
  enum class Action { set, add, remove };
  Action action = Action::set;
  std::vector<OverrideStep> steps;
  std::string value;
  std::size_t value_at = 0;  // offset in the override's text
};
ParsedOverride parse_override(const Override& given, int number);

// The location `at` bytes into the text of override `number` (from 1).
Origin override_origin(const Override& given, int number, std::size_t at);

// The text of an override as a value for a location of this kind. Throws ConfigError, its location
// as for read_toml_value.
Value read_override_value(const std::string& text, const SchemaNode& node);
// The same for whatever the override holds.
Value override_value(const Override& given, const ParsedOverride& parsed, const SchemaNode& node);

// What stands behind '=' to give this value again: a text that reads as something else is in
// quotes.
std::string override_value_text(const Value& value);

}  // namespace trivet
