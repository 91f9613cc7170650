// SPDX-License-Identifier: Apache-2.0
// Merges the tables that several sources give for a job. `args`, `env` and `files` are merged by
// member; other fields take the upper value. A table of args over a list adds its names, so that
// the words of the list stay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// Merges one job over another: [xp.jobs.NAME] over that of a provider. A list of args replaces the
// lower args.
void lay_over(Value& lower, const Value& upper);

// Adds the values of `all` that the job does not set. A named argument of [xp] is appended to a job
// whose args are a list.
Value with_fallback(const Value& all, const Value& job);

// Whether all values of the table, or any, came from the command line.
bool is_from_command_line(const Value& value);
bool has_from_command_line(const Value& value);

// A value for all jobs that a job's own value hides completely.
struct HiddenValue {
  std::string path;  // "platform", "args.lr"
  const Value* hidden = nullptr;
  const Value* by = nullptr;
};
// The hidden values from the command line if the job's own value comes from another source.
std::vector<HiddenValue> hidden_options(const Value& all, const Value& job);

}  // namespace trivet
