// SPDX-License-Identifier: Apache-2.0
// TrialValue: makes the values of a trial of what was measured during it.
//
//   const TrialValue value({"accuracy"}, {.goals = {Goal::max}, .value_of = {.at = ValueAt::best}});
//   follow(value.followed());
//   const TrialValue::Outcome outcome = value.of(curves);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/study/combine.h"
#include "search/study/measurements.h"
#include "search/study/objectives.h"
#include "trivet/config/goal.h"
#include "trivet/search/trial.h"

namespace trivet::search {

struct ValueRule {
  std::vector<Goal> goals{};  // of the objectives; min where there is none
  ValueOfConfig value_of{};
  std::optional<CombineConfig> combine{};
  std::optional<double> for_nonfinite{};
};

class TrialValue {
 public:
  TrialValue(const std::vector<std::string>& objectives, ValueRule rule);

  // The objectives, and `value_of.metric` unless it is one of them.
  const std::vector<Objective>& followed() const { return followed_; }

  // One curve for each of followed().
  using Curves = std::vector<std::span<const Measurement>>;
  struct Outcome {
    std::vector<double> values{};  // of the objectives, or combined; empty if one is missing
    std::string missing{};         // why, for people
    bool is_unseen = false;        // a number was never written
  };
  Outcome of(const Curves& curves) const;
  // The first objective, or the combined value at the steps at which all were measured.
  std::vector<Measurement> watched(const Curves& curves) const;

 private:
  // The values at a step, or a mean of steps.
  struct Row {
    std::int64_t step = 0;
    std::vector<double> values{};
  };
  // Messages name the values "its last " NAME, or "its " NAME " at step 10".
  struct Chosen {
    std::vector<double> values{};
    std::string before{}, after{};
  };

  static std::vector<Row> rows_of(const Curves& curves);
  double combined_of(std::span<const double> values) const;
  Chosen last(const Curves& curves) const;
  Chosen mean(const std::vector<Row>& rows) const;
  // Nothing if the number to compare is finite at no step.
  std::optional<Chosen> best(const std::vector<Row>& rows) const;
  Outcome outcome(const Chosen& chosen) const;
  // The replacement, if there is one.
  Outcome nonfinite(const std::string& what) const;
  std::string name(std::size_t followed) const;

  ValueRule rule_;
  std::vector<Objective> followed_;
  std::size_t objectives_;
  // Of `best`: in followed(). None: the combined value.
  std::optional<std::size_t> compared_ = 0;
  Goal compared_goal_ = Goal::min;
};

}  // namespace trivet::search
