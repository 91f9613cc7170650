// SPDX-License-Identifier: Apache-2.0
//
// How what several sources say of a job becomes one table. `args`, `env` and `files` are merged
// member by member; of everything else the upper one counts. A table of args laid over a list adds
// its names to it, so that the words of the list stay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// Lays one job over another: [xp.jobs.NAME] over that of a provider. A list of args replaces what
// is below it.
void lay_over(Value& lower, const Value& upper);

// Gives the job what `all` says for all jobs and it does not: a named argument that stands in [xp]
// reaches a job whose args are a list, too, behind them.
Value with_fallback(const Value& all, const Value& job);

// Whether every value in it was given on the command line, or any.
bool is_from_command_line(const Value& value);
bool has_from_command_line(const Value& value);

// A value for all jobs of which a job's own leaves nothing.
struct HiddenValue {
  std::string path;  // "platform", "args.lr"
  const Value* hidden = nullptr;
  const Value* by = nullptr;
};
// Of those that the command line sets, where the job's own comes from somewhere else.
std::vector<HiddenValue> hidden_options(const Value& all, const Value& job);

}  // namespace trivet
