// SPDX-License-Identifier: Apache-2.0
// --params_override in the notation of Model Garden's launchers (official/modeling/hyperparams,
// params_dict.py). One of
//
//   task.train_input.batch_size=8, task.name='a, b', trainer.learning_rate=1.e-3, task.ids=[1, 2]
//   {"task": {"train_input": {"batch_size": 8}}}      other fields are kept
//   {"task.train_input.batch_size": 8}               a key at the top may be a path
//   more.toml                                        a config file over all others
//
// Pairs: dotted keys, blanks around commas and '=', quotes around text that has commas in it, one
// level of brackets for lists, whose words need no quotes. Numbers may be written as in YAML (1e-3,
// -1.e-3, .5, +3), booleans also as True and False, nothing as null. Differences from the original:
// blanks at the ends are ignored, "gs://" needs no quotes and does not quote the rest, and the type
// of the field decides how a word is read, so a string field takes 1 as text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/overrides/override.h"

namespace trivet {

struct ParamsOverride {
  std::vector<Override> overrides{};
  std::filesystem::path file{};  // the third form
};

// `text` is the value of the option; only blanks give no overrides. Throws ConfigError with the
// location for any other text. Keys and values are checked when the overrides are applied; their
// locations are those in `--params_override=TEXT`.
ParamsOverride parse_params_override(const std::string& text);

// Converts a YAML number to TOML: "1.0e-3" for "1.e-3". Empty for other text and for valid TOML.
std::string toml_number(const std::string& text);

}  // namespace trivet
