// SPDX-License-Identifier: Apache-2.0
#include "builtin/logged_number.h"

#include <vector>

#include <fmt/core.h>

#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet {

std::optional<double> logged_number(const ActionEvent& event, const std::string& metric,
                                    std::string_view type) {
  const Logs& logs = event.logs;
  if (const double* value = logs.find(metric)) return *value;
  if (metric == "skipped_steps" || metric == "restores") return std::nullopt;
  if (event.is_skipped(metric)) return std::nullopt;
  std::vector<std::string> names;
  for (const Logs::Entry& entry : logs) names.push_back(entry.first);
  throw RunError(fmt::format("{}: no metric is named '{}'", type, metric),
                 {.hint = suggestion(metric, names)});
}

}  // namespace trivet
