// SPDX-License-Identifier: Apache-2.0
#include "train/step_parts.h"

#include <utility>

#include "train/prefetch.h"

namespace trivet {

std::unique_ptr<Input> build_input(Task& task, const ConfigOf<Input>& config, bool training) {
  InputContext context{.training = training,
                       .name = training ? "task.train_input" : "task.eval_input"};
  if (!config.path().empty()) context.name = config.path();
  std::unique_ptr<Input> input = task.build_inputs(config, context);
  const Value* set = config.fields().find("prefetch");
  const std::int64_t depth = set != nullptr ? set->as_integer() : InputConfig{}.prefetch;
  if (depth == 0) return input;
  return std::make_unique<Prefetch>(std::move(input), depth);
}

void reset(Metrics& metrics) {
  for (const auto& metric : metrics) metric->reset_state();
}

Logs results(const Metrics& metrics) {
  Logs logs;
  for (const auto& metric : metrics) logs.merge(metric->result());
  return logs;
}

Value save_metrics(const Metrics& metrics) {
  Value states = Value::array();
  for (const auto& metric : metrics) states.push_back(metric->save_state());
  return states;
}

void restore_metrics(const Value& states, const Metrics& metrics) {
  if (states.items().size() != metrics.size()) {
    throw RunError(fmt::format("the checkpoint holds the state of {} metrics, the task has {}",
                               states.items().size(), metrics.size()));
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i]->restore_state(states.items()[i]);
}

}  // namespace trivet
