// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a job: words in a fixed order, and named values (--NAME=VALUE) among them, of
// which a sweep may set some.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

struct Argument {
  std::string name;  // empty: `value` is a word, a text that is passed as it is
  Value value;
};

// Of `args` in a config: a table, a list of words and tables, or null. A name that is given twice
// keeps its first location and takes the last value.
std::vector<Argument> arguments_of(const Value& args);

// Sets a named value: where it is, or at the end.
void set_argument(std::vector<Argument>& arguments, const std::string& name, Value value);

enum class ValueText {
  json,  // true, 1e-05, [1, 2], {"a": 1}
  toml,  // of a value in a run's config: [1, 2], {type = "optim/Sgd"}
};
// Text as it is, everything else in that language.
std::string value_text(const Value& value, ValueText language);

// "--batch_size=32"; a word as it is.
std::string argument_text(const Argument& argument, ValueText language = ValueText::json);

}  // namespace trivet
