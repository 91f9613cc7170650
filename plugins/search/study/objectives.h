// SPDX-License-Identifier: Apache-2.0
// The objectives of a search, and the steps of a trial whose values count.
//
//   objectives = [{ metric = "accuracy", goal = "max" }, { metric = "latency_ms", goal = "min" }]
//   value_of = { at = "best", metric = "accuracy" }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/config/goal.h"

namespace trivet::search {

struct ObjectiveConfig {
  std::string metric;
  Goal goal = Goal::min;
};
TRIVET_CONFIG(ObjectiveConfig, trivet::NoBase,
              (metric, "A number in metrics.jsonl, as `objective` of the search.", required,
               names_metric),
              (goal, "Whether a lower (min) or a higher (max) value is better.", required))

enum class ValueAt { last, best, mean };
TRIVET_ENUM(ValueAt, last, best, mean)

struct ValueOfConfig {
  ValueAt at = ValueAt::last;
  std::optional<std::int64_t> last_n{};
  std::string metric{};
  std::optional<Goal> goal{};
};
TRIVET_CONFIG(
    ValueOfConfig, trivet::NoBase,
    (at,
     "last: the last value of each objective. best: the values at the step where `metric` is best, "
     "of equals the latest. mean: the mean over the last steps. Of best and mean, only steps at "
     "which all of them were measured count."),
    (last_n, "mean: number of steps, or fewer if the trial has fewer. Default: all.", at_least(1)),
    (metric,
     "best: a number in metrics.jsonl, as `objective`. Default: the objective itself, or the "
     "combined value.",
     names_metric),
    (goal,
     "best: whether `metric` is best where it is least (min) or greatest (max). Default: the "
     "goal of the objective of this name."))

// "eval/accuracy" also for "accuracy".
std::string full_name(const std::string& metric);

// "the best", "the mean of the last 3 steps", for messages.
std::string text_of(const ValueOfConfig& value_of);

// What is wrong with a metric's name.
void check_metric(const std::string& metric, const std::string& path, Diagnostics& diagnostics);
// What is wrong with a list of objectives, at "objectives".
void check_objectives(std::span<const ObjectiveConfig> objectives, Diagnostics& diagnostics);
// What is wrong with `value_of` of valid objectives, at "value_of". `are_one`: they have one value.
void check_value_of(const ValueOfConfig& value_of, std::span<const ObjectiveConfig> objectives,
                    bool are_one, Diagnostics& diagnostics);

}  // namespace trivet::search
