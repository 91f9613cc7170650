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

struct InitSourceConfig {
  Path checkpoint;
  std::optional<std::int64_t> step;
  std::vector<LoadRule> rules;
  std::optional<bool> averages;

  TRIVET_API void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(InitSourceConfig, trivet::NoBase,
              (checkpoint, "A checkpoint, or a directory of them, as task.init_checkpoint.",
               required),
              (step, "Step of the checkpoint in a directory of them; not set: the newest.",
               at_least(0)),
              (rules, "Names in this checkpoint, the first that matches counts."),
              (averages, "Moving averages instead of the weights, as task.init_load.averages."))

struct InitLoadConfig {
  std::vector<LoadRule> rules;
  std::vector<std::string> ignore;
  bool partial = false;
  std::optional<bool> averages = std::nullopt;
  std::optional<std::int64_t> step = std::nullopt;
  std::vector<InitSourceConfig> sources{};
  bool load_step = false;
  bool load_slots = false;

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
     "none."),
    (step, "Step of the checkpoint where init_checkpoint has several; not set: the newest.",
     at_least(0)),
    (sources,
     "Further checkpoints, in order: each gives the variables that those before it do not have."),
    (load_step, "The new run counts steps from that of init_checkpoint, not from 0."),
    (load_slots,
     "Also loads the optimizer's slots, by the names of the variables that are loaded, and the "
     "number of updates, on which schedules and bias corrections depend."))

struct TRIVET_API LoadReport {
  enum class Status { loaded, ignored, missing, differs };
  struct Entry {
    std::string variable;
    std::string shape;  // "[784, 512]"
    Status status = Status::loaded;
    std::string source;  // the name looked for in the file
    std::string note;    // what was found instead, or the nearest names
    std::string file{};  // that it was loaded from
  };

  std::string file;                 // the first source
  std::vector<Entry> entries;       // every variable of the model, in its order
  std::vector<std::string> unused;  // names in the files that no variable was loaded from
  std::size_t averages = 0;         // loaded variables whose values are moving averages
  std::optional<std::int64_t> step = std::nullopt;  // of the first source, where it says

  std::size_t count(Status status) const;
  // "38 of 40 variables from FILE, 38 as moving averages; 2 ignored".
  std::string summary() const;
  // A line for each variable and each unused name.
  std::string text() const;
};
TRIVET_ENUM(LoadReport::Status, loaded, ignored, missing, differs)

}  // namespace trivet
