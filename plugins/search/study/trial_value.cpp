// SPDX-License-Identifier: Apache-2.0
#include "search/study/trial_value.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace trivet::search {

TrialValue::TrialValue(const std::vector<std::string>& objectives, ValueRule rule)
    : rule_(std::move(rule)), objectives_(objectives.size()) {
  for (const std::string& text : objectives) followed_.push_back(parse_objective(text));
  rule_.goals.resize(objectives_, Goal::min);
  const std::string& metric = rule_.value_of.metric;
  if (!metric.empty()) {
    const std::string wanted = full_name(metric);
    std::size_t found = 0;
    while (found < objectives_ && name(found) != wanted) ++found;
    if (found == objectives_) followed_.push_back(parse_objective(metric));
    compared_ = found;
  } else if (rule_.combine) {
    compared_.reset();
  }
  const std::size_t compared = compared_.value_or(0);
  if (compared < objectives_) compared_goal_ = rule_.goals[compared];
  if (rule_.value_of.goal) compared_goal_ = *rule_.value_of.goal;
}

std::string TrialValue::name(std::size_t followed) const {
  return text_of(followed_[followed]);
}

// The steps at which all were measured. Curves are sorted by step.
std::vector<TrialValue::Row> TrialValue::rows_of(const Curves& curves) {
  std::vector<Row> rows;
  for (const Measurement& first : curves.front()) {
    Row row{.step = first.step};
    for (const std::span<const Measurement> curve : curves) {
      const auto at = std::lower_bound(
          curve.begin(), curve.end(), first.step,
          [](const Measurement& one, std::int64_t step) { return one.step < step; });
      if (at != curve.end() && at->step == first.step) row.values.push_back(at->value);
    }
    if (row.values.size() == curves.size()) rows.push_back(std::move(row));
  }
  return rows;
}

TrialValue::Outcome TrialValue::of(const Curves& curves) const {
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].empty()) continue;
    return {.missing = "its metrics.jsonl has no " + name(i), .is_unseen = true};
  }
  if (rule_.value_of.at == ValueAt::last) return outcome(last(curves));
  const std::vector<Row> rows = rows_of(curves);
  if (rows.empty()) {
    std::string all = name(0);
    for (std::size_t i = 1; i < curves.size(); ++i) all += " and " + name(i);
    return {.missing = "its metrics.jsonl has no step with " + all};
  }
  if (rule_.value_of.at == ValueAt::mean) return outcome(mean(rows));
  if (const std::optional<Chosen> chosen = best(rows)) return outcome(*chosen);
  return nonfinite("its " + (compared_ ? name(*compared_) : "combined value") +
                   " is finite at no step");
}

std::vector<Measurement> TrialValue::watched(const Curves& curves) const {
  if (!rule_.combine) return {curves.front().begin(), curves.front().end()};
  std::vector<Measurement> watched;
  const auto end = curves.begin() + static_cast<std::ptrdiff_t>(objectives_);
  for (const Row& row : rows_of(Curves(curves.begin(), end))) {
    watched.push_back({row.step, combined_of(row.values)});
  }
  return watched;
}

double TrialValue::combined_of(std::span<const double> values) const {
  return combined(*rule_.combine, rule_.goals, values.first(objectives_));
}

TrialValue::Chosen TrialValue::last(const Curves& curves) const {
  Chosen chosen{.before = "its last "};
  for (std::size_t i = 0; i < objectives_; ++i) {
    chosen.values.push_back(curves[i].back().value);
  }
  return chosen;
}

TrialValue::Chosen TrialValue::mean(const std::vector<Row>& rows) const {
  const std::int64_t all = std::ssize(rows);
  const std::int64_t count = std::min(all, rule_.value_of.last_n.value_or(all));
  Chosen chosen{.values = std::vector<double>(objectives_), .before = "the mean of its "};
  for (auto row = rows.end() - count; row != rows.end(); ++row) {
    for (std::size_t i = 0; i < objectives_; ++i) {
      chosen.values[i] += row->values[i] / static_cast<double>(count);
    }
  }
  return chosen;
}

std::optional<TrialValue::Chosen> TrialValue::best(const std::vector<Row>& rows) const {
  const Row* best = nullptr;
  double least = 0;
  for (const Row& row : rows) {
    const double value = compared_ ? row.values[*compared_] : combined_of(row.values);
    const double loss = loss_of(value, compared_goal_);
    if (!std::isfinite(loss) || (best != nullptr && loss > least)) continue;
    best = &row;
    least = loss;
  }
  if (best == nullptr) return std::nullopt;
  Chosen chosen{
      .values = best->values, .before = "its ", .after = " at step " + std::to_string(best->step)};
  chosen.values.resize(objectives_);
  return chosen;
}

TrialValue::Outcome TrialValue::outcome(const Chosen& chosen) const {
  for (std::size_t i = 0; i < chosen.values.size(); ++i) {
    if (std::isfinite(chosen.values[i])) continue;
    return nonfinite(chosen.before + name(i) + chosen.after + " is not finite");
  }
  if (!rule_.combine) return {.values = chosen.values};
  const double value = combined_of(chosen.values);
  if (!std::isfinite(value)) return nonfinite("its combined value is not finite");
  return {.values = {value}};
}

TrialValue::Outcome TrialValue::nonfinite(const std::string& what) const {
  if (rule_.for_nonfinite) return {.values = {*rule_.for_nonfinite}};
  return {.missing = what};
}

}  // namespace trivet::search
