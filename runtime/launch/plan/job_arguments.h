// SPDX-License-Identifier: Apache-2.0
// The arguments of a job: words in a fixed order, mixed with named values (--NAME=VALUE). A sweep
// may set named values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

struct Argument {
  std::string name;  // empty: `value` is a word that is passed unchanged
  Value value;
};

// Parses `args` of a config: a table, a list of words and tables, or null. A repeated name keeps
// its first position and takes the last value.
std::vector<Argument> arguments_of(const Value& args);

// Sets a named value: in its position, or at the end.
void set_argument(std::vector<Argument>& arguments, const std::string& name, Value value);

enum class ValueText {
  json,  // true, 1e-05, [1, 2], {"a": 1}
  toml,  // for a value in a run's config: [1, 2], {type = "optim/Sgd"}
};
// Strings unchanged, other values in the given language.
std::string value_text(const Value& value, ValueText language);

// "--batch_size=32"; a word unchanged.
std::string argument_text(const Argument& argument, ValueText language = ValueText::json);

}  // namespace trivet
