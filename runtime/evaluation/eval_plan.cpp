// SPDX-License-Identifier: Apache-2.0
#include "evaluation/eval_plan.h"

#include <string>

#include "evaluation/eval_sets.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet {

std::vector<std::size_t> EvalPlan::indexes() const {
  std::vector<std::size_t> indexes;
  for (const Set& set : sets) {
    if (!set.is_main()) indexes.push_back(set.index);
  }
  return indexes;
}

EvalPlan eval_plan(Mode mode, Task& task, const TrainerConfig& trainer) {
  EvalPlan plan;
  if (!evaluates(mode)) return plan;
  const auto& only = traits_of(mode).program;
  const bool has_input = has_main_evaluation(task);
  const std::vector<EvalSet> sets = eval_sets(task);
  if (has_input) plan.names.emplace_back();
  for (const EvalSet& set : sets) plan.names.push_back(set.name);
  if (has_input && (!only || *only == EvalProgram::eval)) {
    plan.sets.push_back({.name = "",
                         .index = 0,
                         .interval = trainer.validation_interval,
                         .steps = trainer.validation_steps});
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const EvalInputConfig& set = *sets[i].config;
    if (only && set.program != *only) continue;
    plan.sets.push_back({.name = sets[i].name,
                         .index = i,
                         .interval = set.interval.value_or(trainer.validation_interval),
                         .steps = set.steps});
  }
  if (plan.sets.empty()) {
    const std::string program(enum_name(only.value_or(EvalProgram::eval)));
    throw ConfigError(Diagnostic{.path = path_of_sets(task),
                                 .what = "mode \"" + std::string(enum_name(mode)) +
                                         "\" has no data: no set has program = \"" + program + "\"",
                                 .hint = "add a set with a name, an input and this program"});
  }
  return plan;
}

}  // namespace trivet
