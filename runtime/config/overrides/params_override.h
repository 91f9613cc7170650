// SPDX-License-Identifier: Apache-2.0
//
// --params_override, as Model Garden's launchers write it (official/modeling/hyperparams,
// params_dict.py). One of
//
//   task.train_input.batch_size=8, task.name='a, b', trainer.learning_rate=1.e-3, task.ids=[1, 2]
//   {"task": {"train_input": {"batch_size": 8}}}      what it does not name stays
//   {"task.train_input.batch_size": 8}               a key at the top may be a path
//   more.toml                                        a config file above all others
//
// Pairs: dotted keys, blanks around commas and '=', quotes around text that has commas in it, one
// level of brackets for lists, whose words need no quotes. Numbers may be written as in YAML (1e-3,
// -1.e-3, .5, +3), booleans also as True and False, nothing as null. Different from the original:
// blanks at the ends do no harm, a "gs://" needs no quotes and quotes nothing else, and the type of
// the field decides how a word is read, so that a text field takes 1 as it stands.
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

// `text` is what follows the option; blanks alone mean nothing. Throws ConfigError with the
// location for text that is none of the three. Whether keys and values fit the config is found when
// the overrides are applied; their locations are those in `--params_override=TEXT`.
ParamsOverride parse_params_override(const std::string& text);

// A number of YAML's as TOML writes it: "1.0e-3" for "1.e-3"; empty for any other text and for what
// is TOML already.
std::string toml_number(const std::string& text);

}  // namespace trivet
