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
// With several sources each variable is loaded from the first one that has the name for it, by the
// rules of that source:
//
//   [[task.init_load.sources]]
//   checkpoint = "runs/2-text"
//   step = 5000
//   rules = [{ pattern = "text/(.*)", name = "encoder/$1" }]
//
// Moving averages (trainer.ema) are what evaluations used, so a checkpoint that has them gives them
// instead of the weights they are averages of, as Model Garden exports. `averages` changes that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "trivet/base/export.h"
#include "trivet/data/safetensors.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/train/init_load.h"

namespace trivet {

// The file of weights that a path means: itself, model.safetensors in it, or that of the newest
// step_NUMBER below it or below its `checkpoints`; with a step that of this step, also below its
// `best`. Throws RunError when there is none.
TRIVET_API std::filesystem::path find_weights(const std::filesystem::path& path,
                                              std::optional<std::int64_t> step = {});

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
