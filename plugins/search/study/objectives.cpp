// SPDX-License-Identifier: Apache-2.0
#include "search/study/objectives.h"

#include <algorithm>
#include <set>

#include "search/study/measurements.h"
#include "trivet/config/enums.h"

namespace trivet::search {

std::string full_name(const std::string& metric) {
  return text_of(parse_objective(metric));
}

std::string text_of(const ValueOfConfig& value_of) {
  if (value_of.at == ValueAt::mean) {
    if (!value_of.last_n) return "the mean of all steps";
    return "the mean of the last " + std::to_string(*value_of.last_n) + " steps";
  }
  if (value_of.at == ValueAt::last) return "the last";
  if (value_of.metric.empty()) return "the best";
  const std::string goal(value_of.goal ? enum_name(*value_of.goal) : "best");
  return "at the step of the " + goal + " of " + value_of.metric;
}

void check_metric(const std::string& metric, const std::string& path, Diagnostics& diagnostics) {
  const auto is_plain = [](char c) { return c != '"' && c != '\\' && c != '\n'; };
  if (metric.empty()) diagnostics.add(path, "names no metric", "\"eval/accuracy\"");
  const Objective objective = parse_objective(metric);
  if (!objective.aggregate && metric.find('*') != std::string::npos) {
    diagnostics.add(path, "'" + metric + "' may be several numbers",
                    "one of them all is mean(" + metric + "), or max, min, sum");
  }
  if (!std::all_of(metric.begin(), metric.end(), is_plain)) {
    diagnostics.add(path, "a metric's name has no quotes, backslashes or line ends");
  }
}

void check_objectives(std::span<const ObjectiveConfig> objectives, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const std::string path = joined_path("objectives", i) + ".metric";
    const std::string& metric = objectives[i].metric;
    check_metric(metric, path, diagnostics);
    if (!names.insert(full_name(metric)).second) {
      diagnostics.add(path, "'" + metric + "' is listed twice");
    }
  }
}

void check_value_of(const ValueOfConfig& value_of, std::span<const ObjectiveConfig> objectives,
                    bool are_one, Diagnostics& diagnostics) {
  const std::string at(enum_name(value_of.at));
  const auto refuse = [&](const std::string& field, const std::string& wanted) {
    diagnostics.add("value_of." + field, "has no effect with at = \"" + at + "\"",
                    "set at = \"" + wanted + "\", or remove it");
  };
  if (value_of.last_n && value_of.at != ValueAt::mean) refuse("last_n", "mean");
  if (value_of.at != ValueAt::best) {
    if (!value_of.metric.empty()) refuse("metric", "best");
    if (value_of.goal) refuse("goal", "best");
    return;
  }
  if (value_of.metric.empty()) {
    if (!are_one) {
      diagnostics.add("value_of.metric", "there are several objectives",
                      "name the number that decides which step is best");
    }
    if (value_of.goal) {
      diagnostics.add("value_of.goal", "is the goal of value_of.metric, which is not set",
                      "the objective has its own goal");
    }
    return;
  }
  check_metric(value_of.metric, "value_of.metric", diagnostics);
  const bool is_objective =
      std::any_of(objectives.begin(), objectives.end(), [&](const ObjectiveConfig& one) {
        return full_name(one.metric) == full_name(value_of.metric);
      });
  if (!is_objective && !value_of.goal) {
    diagnostics.add("value_of.goal", "is required: '" + value_of.metric + "' is no objective",
                    "min or max");
  }
}

}  // namespace trivet::search
