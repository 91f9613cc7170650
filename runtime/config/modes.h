// SPDX-License-Identifier: Apache-2.0
//
// The modes of `trivet run`: the one table that all other code reads.
#pragma once

#include <string_view>

#include "trivet/experiment.h"

namespace trivet {

// The run that a mode uses.
enum class ModeTarget {
  own,       // its own run, which it starts or continues
  followed,  // another process's run, whose new checkpoints it evaluates
  restarts,  // new runs, one from each checkpoint of another process
};

struct ModeTraits {
  Mode mode;
  bool trains;     // builds the training parts of task and trainer
  bool evaluates;  // builds the evaluation parts; needs an eval input
  ModeTarget target = ModeTarget::own;
  // The directory below the followed run. Empty if the mode uses its own run.
  std::string_view directory = {};
};

const ModeTraits& traits_of(Mode mode);

inline bool trains(Mode mode) {
  return traits_of(mode).trains;
}
inline bool evaluates(Mode mode) {
  return traits_of(mode).evaluates;
}
inline bool follows(Mode mode) {
  return traits_of(mode).target == ModeTarget::followed;
}
// Evaluates one checkpoint once.
inline bool evaluates_once(Mode mode) {
  return !trains(mode) && traits_of(mode).target == ModeTarget::own;
}

}  // namespace trivet
