// SPDX-License-Identifier: Apache-2.0
// Goal: whether less of a number is better, or more, wherever a config asks: best checkpoints,
// searches, actions.
#pragma once

#include "trivet/config.h"

namespace trivet {

enum class Goal { min, max };
TRIVET_ENUM(Goal, min, max)

// Strictly. NaN is never better.
inline bool is_better(double value, double than, Goal goal) {
  return goal == Goal::min ? value < than : value > than;
}

}  // namespace trivet
