// SPDX-License-Identifier: Apache-2.0
// Trial: one experiment of a search: where in the space, what was measured during it, how it ended.
// Samplers and stoppers see a search as a list of these.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/goal.h"
#include "trivet/search/search_space.h"

namespace trivet::search {

enum class TrialState {
  running,
  complete,
  stopped,  // early, by a stopper
  failed,
};
TRIVET_ENUM(TrialState, running, complete, stopped, failed)

// The objective at a step of a run.
struct Measurement {
  std::int64_t step = 0;
  double value = 0;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

struct Trial {
  std::int64_t number = 0;  // 0, 1, ... in the order in which points were asked for
  TrialState state = TrialState::running;
  SearchPoint point{};
  std::optional<double> value{};            // the (first) objective, once it ended
  std::vector<Measurement> measurements{};  // of the (first) objective: by step, each step once
  std::vector<double> values{};             // all objectives; empty where there is one
};

// The objective turned so that less is better. [any-thread]
inline double loss_of(double value, Goal goal) {
  return goal == Goal::min ? value : -value;
}

// The result of a trial that ended, with its sign changed where more is better: its value, or
// without one its last measurement. Nothing for one that runs, failed, or has no finite number.
// [any-thread]
TRIVET_API std::optional<double> final_loss(const Trial& trial, Goal goal);

// The same for all objectives, in the order of `goals`. Nothing if one is missing. [any-thread]
TRIVET_API std::optional<std::vector<double>> final_losses(const Trial& trial,
                                                           std::span<const Goal> goals);

}  // namespace trivet::search
