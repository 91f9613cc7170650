// SPDX-License-Identifier: Apache-2.0
#include "search/study/combine.h"

#include <algorithm>
#include <cmath>

#include "trivet/config/enums.h"

namespace trivet::search {
namespace {

void check_weights(const std::vector<double>& weights, std::size_t objectives,
                   Diagnostics& diagnostics) {
  const std::string path = "combine.weights";
  if (weights.size() != objectives) {
    diagnostics.add(path, "has " + std::to_string(weights.size()) + " weights for " +
                              std::to_string(objectives) + " objectives");
  }
  if (!std::all_of(weights.begin(), weights.end(), [](double w) { return std::isfinite(w); })) {
    diagnostics.add(path, "a weight is not finite");
  }
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) {
    diagnostics.add(path, "one weight at least must not be 0");
  }
}

void check_quality_and_cost(const std::string& method, std::span<const ObjectiveConfig> objectives,
                            Diagnostics& diagnostics) {
  if (objectives.size() != 2) {
    diagnostics.add("combine.method", method + " takes two objectives, a quality and a cost",
                    "weighted_sum takes any number");
    return;
  }
  const Goal wanted[] = {Goal::max, Goal::min};
  for (std::size_t i = 0; i < 2; ++i) {
    if (objectives[i].goal == wanted[i]) continue;
    diagnostics.add(joined_path("objectives", i) + ".goal",
                    method + " takes a quality with goal \"max\", then a cost with goal \"min\"",
                    "weighted_sum takes any goals");
  }
}

}  // namespace

void check_combine(const CombineConfig& combine, std::span<const ObjectiveConfig> objectives,
                   Diagnostics& diagnostics) {
  const std::string method(enum_name(combine.method));
  const auto refuse = [&](const std::string& field) {
    diagnostics.add("combine." + field, "has no effect with method = \"" + method + "\"",
                    "remove it");
  };
  if (objectives.size() < 2) {
    diagnostics.add("combine", "there is one objective, and nothing to combine", "remove it");
    return;
  }
  if (combine.method == CombineMethod::weighted_sum) {
    check_weights(combine.weights, objectives.size(), diagnostics);
    if (combine.cost_objective) refuse("cost_objective");
    if (combine.exponent) refuse("exponent");
    return;
  }
  check_quality_and_cost(method, objectives, diagnostics);
  if (!combine.weights.empty()) refuse("weights");
  if (!combine.cost_objective) {
    diagnostics.add("combine.cost_objective", "is required by " + method, "the wanted cost");
  } else if (!std::isfinite(*combine.cost_objective)) {
    diagnostics.add("combine.cost_objective", "is not finite");
  }
  if (!std::isfinite(combine.exponent_or_default())) {
    diagnostics.add("combine.exponent", "is not finite");
  }
}

double combined(const CombineConfig& combine, std::span<const Goal> goals,
                std::span<const double> values) {
  if (combine.method == CombineMethod::weighted_sum) {
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double weight = combine.weights[i];
      sum += goals[i] == goals[0] ? weight * values[i] : -weight * values[i];
      weights += std::abs(weight);
    }
    return sum / weights;
  }
  const double quality = values[0], ratio = values[1] / *combine.cost_objective;
  const double exponent = combine.exponent_or_default();
  switch (combine.method) {
    case CombineMethod::weighted_sum:
      break;
    case CombineMethod::tunas_absolute:
      return quality + exponent * std::abs(ratio - 1);
    case CombineMethod::mnas_hard:
      // A power of a negative number is NaN, which min() would take for 1.
      return ratio >= 0 ? quality * std::min(std::pow(ratio, exponent), 1.0) : std::nan("");
    case CombineMethod::mnas_soft:
      return quality * std::pow(ratio, exponent);
  }
  return std::nan("");
}

std::string combined_name(const CombineConfig& combine,
                          std::span<const ObjectiveConfig> objectives) {
  std::string name(enum_name(combine.method));
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    name += (i == 0 ? "(" : ", ") + full_name(objectives[i].metric);
  }
  return name + ")";
}

}  // namespace trivet::search
