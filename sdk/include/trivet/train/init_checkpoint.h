// SPDX-License-Identifier: Apache-2.0
// Starting a model from the weights of another run: which variable is loaded from which name, what
// is left alone, and a report of every variable.
//
//   [task]
//   init_checkpoint = "runs/1-ten_classes"
//   [task.init_load]
//   rules = [{ pattern = "encoder/(.*)", name = "backbone/$1" }]
//   ignore = ["head/.*"]
//
// Patterns are regular expressions (ECMAScript) that must match a variable's whole path. For each
// variable of the model: one that an `ignore` pattern matches keeps its starting values; else the
// first rule that matches gives the name to look for ($1, $2 are its groups); where none does, the
// name is the variable's own. A rule or ignore pattern that matches no variable at all is an error.
// After Pax's init_from_checkpoint_rules, with full matches everywhere.
//
// Moving averages (trainer.ema) are what evaluations used, so a checkpoint that has them gives them
// instead of the weights they are averages of, as Model Garden exports. `averages` changes that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/layer/scope.h"
#include "trivet/plugin/export.h"
#include "trivet/train/safetensors.h"

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

  std::filesystem::path file;
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

TRIVET_API std::string_view name_of(LoadReport::Status status);

// The file of weights that a path means: itself, model.safetensors in it, or that of the newest
// step_NUMBER below it or below its `checkpoints`. Throws RunError when there is none.
TRIVET_API std::filesystem::path find_weights(const std::filesystem::path& path);

// Fills the store's parameters from what `path` means. f32, bf16 and f16 are read. Moving averages
// are in ema.safetensors next to model.safetensors and replace it as config.averages says; a path
// that is a file is taken as it is unless config.averages is true. Throws RunError with the whole
// report when something is missing or differs and `partial` is not set; then nothing was changed.
TRIVET_API LoadReport load_weights(ParameterStore& store, const std::filesystem::path& path,
                                   const InitLoadConfig& config = {});

// Weights in memory, and what messages call them and the config that has the rules.
struct WeightSource {
  std::span<const SafetensorsEntry> entries;
  std::string name;         // "runs/1-ten_classes/model.safetensors"
  std::string rules_path;   // "task.init_load"
  std::string source_path;  // "task.init_checkpoint"
};
// The same from memory.
TRIVET_API LoadReport load_weights(ParameterStore& store, const WeightSource& source,
                                   const InitLoadConfig& config);

}  // namespace trivet
