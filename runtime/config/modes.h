// SPDX-License-Identifier: Apache-2.0
// The modes of `trivet run`: the one table that all other code reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trivet/experiment.h"

namespace trivet {

// The run that a mode uses.
enum class ModeTarget {
  own,       // its own run, which it starts or continues
  followed,  // another process's run, whose new checkpoints it evaluates
  restarts,  // new runs, one from each checkpoint of another process
};

// Which checkpoints a mode evaluates.
enum class Evaluates {
  none,
  intervals,   // every trainer.validation_interval steps of training
  last,        // the one that training ends with
  checkpoints  // those that are there, or come: it trains nothing
};

struct ModeTraits {
  Mode mode;
  bool trains;  // the training halves of task and trainer are made
  // Unless none, the evaluation halves are made; an eval input is needed.
  Evaluates evaluates = Evaluates::none;
  ModeTarget target = ModeTarget::own;
  // The directory below the followed run. Empty if the mode uses its own run.
  std::string_view directory = {};
  std::optional<EvalProgram> program = {};  // the only one that runs
  std::string_view doc;                     // for the help page, with line breaks
};

const ModeTraits& traits_of(Mode mode);

// Whether an evaluation that follows a run may have this name, which is a part of its directory's:
// letters, digits, '_', '-' and '.', not first, at most 100.
bool is_evaluation_name(std::string_view name);

// The modes with their docs, for a help page.
std::string modes_text();

inline bool trains(Mode mode) {
  return traits_of(mode).trains;
}
inline bool evaluates(Mode mode) {
  return traits_of(mode).evaluates != Evaluates::none;
}
inline bool follows(Mode mode) {
  return traits_of(mode).target == ModeTarget::followed;
}
// Evaluates one checkpoint once.
inline bool evaluates_once(Mode mode) {
  return !trains(mode) && traits_of(mode).target == ModeTarget::own;
}

}  // namespace trivet
