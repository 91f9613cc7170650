// SPDX-License-Identifier: Apache-2.0
#include "config/run_rules.h"

#include <algorithm>

#include "config/modes.h"
#include "trivet/error.h"

namespace trivet {
namespace {

bool is_set(const Value& part) {
  return part.is_table() || (part.is_string() && part.as_string() != "none");
}

bool has_eval_input(const Value& value) {
  if (value.is_array()) {
    return std::any_of(value.items().begin(), value.items().end(), has_eval_input);
  }
  if (!value.is_table()) return false;
  return std::any_of(value.members().begin(), value.members().end(), [](const auto& member) {
    if (member.key == "eval_inputs" && member.value.is_array() && !member.value.items().empty()) {
      return true;
    }
    return member.key == "eval_input" ? is_set(member.value) : has_eval_input(member.value);
  });
}

}  // namespace

void check_run(const ResolvedConfig& config) {
  if (!evaluates(config.experiment.mode)) return;
  const Value* task = config.tree.find("task");
  const Value* trainer = config.tree.find("trainer");
  if ((task != nullptr && has_eval_input(*task)) ||
      (trainer != nullptr && has_eval_input(*trainer))) {
    return;
  }
  const Value* mode = config.tree.find("mode");
  const Value* given = config.tree.find_path("task.eval_input");
  const Value* where = given != nullptr ? given : mode;
  throw ConfigError(Diagnostic{.where = where != nullptr ? where->origin() : Origin(),
                               .path = "task.eval_input",
                               .what = "no input is configured, and mode " +
                                       (mode != nullptr ? to_toml(*mode) : std::string()) +
                                       " evaluates",
                               .hint = "set it, or use mode = \"train\""});
}

}  // namespace trivet
