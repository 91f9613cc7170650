// SPDX-License-Identifier: Apache-2.0
// Overrides: single values changed on the command line.
//
//   trainer.train_steps=500      sets; the field's type decides how the text is read, so a string
//                                field takes it raw and a list is written [1, 2]
//   task.model.layers[2].dims=8  reaches into lists; [-1] is the last element
//   task.model=vision/Cnn        a new type starts with an empty table, the same type keeps it
//   trainer.optimizer={type = "optim/Sgd", momentum = 0.9}   replaces the table;
//                                without a type, keeps the type
//   **.dropout=0.1               every field of that name; *_input.batch_size=8: on one level
//   +xp.note=x                   adds a key to a free table
//   ~trainer.gradient_clip.norm  removes a value, which restores its default
//
// Numbers may be written as in YAML (.5, 1.e-3; 1e5 for an integer), booleans also as True and
// False. null and None are "none" for optional values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// The "file" in the origins of values from the command line. The line is the number of the
// override, the column the position in the user's text, which is in `note`.
inline constexpr const char* kCommandLine = "command line";

struct Override {
  std::string text;        // "a.b=v"
  std::string shown;       // as the user wrote it: "--cfg.a.b=v"
  std::size_t offset = 0;  // offset of `text` in `shown`
  // For composed text: positions from `value_at` on in `text` are shifted by this in `shown`.
  std::size_t value_at = 0, value_shift = 0;
  // A value that was parsed already. `text` is then only PATH=; the path is at `offset` in `shown`
  // and the value `value_shift` after it.
  std::optional<Value> value{};
  bool is_bare = false;   // an option without '=': true, for a boolean
  bool is_lower = false;  // loses to an override of the same path without this flag
};
inline Override make_override(const std::string& text) {
  return {.text = text, .shown = text};
}

// One step of a path as written, with globs.
struct OverrideStep {
  // index_from_end: `index` 1 is the last element. It is resolved as globs are.
  enum class Kind { name, index, index_from_end, name_glob, any_index, any_depth };
  Kind kind = Kind::name;
  std::string name{};
  std::size_t index = 0;
  std::size_t at = 0;  // offset in the override's text
};

// Whether the values of a path are known only with a config: it has a glob or a negative index.
bool needs_matching(std::string_view path);

// A parsed override. Throws ConfigError with the location of the error.
struct ParsedOverride {
  enum class Action { set, add, remove };
  Action action = Action::set;
  std::vector<OverrideStep> steps;
  std::string value;
  std::size_t value_at = 0;  // offset in the override's text
};
ParsedOverride parse_override(const Override& given, int number);

// The location of byte `at` in the text of override `number` (from 1).
Origin override_origin(const Override& given, int number, std::size_t at);

// Parses the text of an override as a value of this type. Throws ConfigError with a location as in
// read_toml_value.
Value read_override_value(const std::string& text, const SchemaNode& node);
// The same for any override, parsed or not.
Value override_value(const Override& given, const ParsedOverride& parsed, const SchemaNode& node);

// The text after '=' that parses to this value: a string that would parse as another type is in
// quotes.
std::string override_value_text(const Value& value);

}  // namespace trivet
