// SPDX-License-Identifier: Apache-2.0
//
// What each mode of `trivet run` does: the one table that the others read.
#pragma once

#include <string>
#include <string_view>

#include "trivet/experiment.h"

namespace trivet {

// Which run a mode works on.
enum class ModeTarget {
  own,       // its own directory, which it starts or continues
  followed,  // another process's run, on whose checkpoints it works as they come
  restarts,  // runs of its own, one from each checkpoint that another process writes
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
  // Below the directory of the followed run; empty for its own.
  std::string_view directory = {};
  std::string_view doc;  // for the help page, with line breaks
};

const ModeTraits& traits_of(Mode mode);

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
// One evaluation of one checkpoint.
inline bool evaluates_once(Mode mode) {
  return !trains(mode) && traits_of(mode).target == ModeTarget::own;
}

}  // namespace trivet
