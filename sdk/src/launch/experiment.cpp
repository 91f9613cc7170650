// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/experiment.h"

#include <algorithm>

#include "trivet/error.h"

namespace trivet::launch {
namespace {

constexpr const char* kTagsHint = R"(write tags = ["a", "b"] or tags = "a,b")";

bool is_string_list(const Value& value) {
  if (!value.is_array()) return false;
  const Value::Array& items = value.items();
  return std::all_of(items.begin(), items.end(),
                     [](const Value& item) { return item.is_string(); });
}

}  // namespace

void Experiment::validate(Diagnostics& diagnostics) const {
  if (!tags.is_null() && !tags.is_string() && !is_string_list(tags)) {
    diagnostics.add("tags", "expected texts", kTagsHint);
  }
  if (!sweep.is_null() && !sweep.is_string() && !sweep.is_boolean() && !is_string_list(sweep)) {
    diagnostics.add("sweep", "expected true, false, a name or a list of names",
                    R"(sweep = true, sweep = "lr,seed" or sweep = ["lr", "seed"])");
  }
  if (!aux.is_null() && !aux.is_table()) diagnostics.add("aux", "expected a table");
  for (const auto& entry : jobs) {
    const std::string& job = entry.first;
    const bool good = !job.empty() && std::all_of(job.begin(), job.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.';
    });
    if (good && job.front() != '.' && job.size() <= kMostJobName) continue;
    diagnostics.add(joined_path("jobs", job), "'" + job + "' is no name for a job",
                    "letters, digits, '_', '-' and '.', none of them '.' in front, at most 100");
  }
}

}  // namespace trivet::launch
