// SPDX-License-Identifier: Apache-2.0
// The rules by which a model takes the weights of another run, and the report of what it took.
// trivet/train/init_checkpoint.h describes them and loads the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"

namespace trivet {

struct LoadRule {
  std::string pattern;
  std::string name;
};
TRIVET_CONFIG(LoadRule, trivet::NoBase,
              (pattern, "Matches whole paths of the model's variables.", required),
              (name, "Name of the variables in the checkpoint; $1 is the pattern's first group.",
               required))

struct InitLoadConfig {
  std::vector<LoadRule> rules;
  std::vector<std::string> ignore;
  bool partial = false;
  std::optional<bool> averages = std::nullopt;

  TRIVET_API void validate(Diagnostics& diagnostics) const;  // the patterns are regular expressions
};
TRIVET_CONFIG(
    InitLoadConfig, trivet::NoBase,
    (rules, "Names in the checkpoint, the first that matches counts."),
    (ignore, "Patterns of variables that are not loaded."),
    (partial,
     "Variables that are missing or of another shape in the checkpoint keep their "
     "starting values; else they are an error."),
    (averages,
     "Moving averages instead of the weights, also where a run's own checkpoints are only "
     "evaluated; not set: where the checkpoint has them; true: an error where it has "
     "none."))

struct TRIVET_API LoadReport {
  enum class Status { loaded, ignored, missing, differs };
  struct Entry {
    std::string variable;
    std::string shape;  // "[784, 512]"
    Status status = Status::loaded;
    std::string source;  // the name looked for in the file
    std::string note;    // what was found instead, or the nearest names
  };

  std::string file;
  std::vector<Entry> entries;       // every variable of the model, in its order
  std::vector<std::string> unused;  // names in the file that no variable was loaded from
  std::size_t averages = 0;         // loaded variables whose values are moving averages
  std::optional<std::int64_t> step = std::nullopt;  // of the checkpoint, where it says

  std::size_t count(Status status) const;
  // "38 of 40 variables from FILE, 38 as moving averages; 2 ignored".
  std::string summary() const;
  // A line for each variable and each unused name.
  std::string text() const;
};
TRIVET_ENUM(LoadReport::Status, loaded, ignored, missing, differs)

}  // namespace trivet
