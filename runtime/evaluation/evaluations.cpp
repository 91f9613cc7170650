// SPDX-License-Identifier: Apache-2.0
#include "evaluation/evaluations.h"

#include <string>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {

Evaluations::Evaluations(Task& task, const Options& options) : task_(task) {
  use_main(options);
  for (const std::size_t index : options.sets) {
    const EvalInputConfig& set = task_.config().eval_inputs.at(index);
    sets_[index] = std::make_unique<Evaluation>(task_, &set, set.input,
                                                fmt::format("task.eval_inputs[{}]", index),
                                                options.data, options.seed);
  }
}

void Evaluations::use_main(const Options& options) {
  if (!options.main || (main_ && options.eval_input == eval_input_)) return;
  main_.reset();
  eval_input_ = options.eval_input;
  main_ = std::make_unique<Evaluation>(task_, nullptr, options.eval_input, "task.eval_input",
                                       options.data, options.seed);
}

Evaluation& Evaluations::main() {
  if (!main_) throw Error("this trainer does not evaluate task.eval_input");
  return *main_;
}

Evaluation& Evaluations::set(std::size_t index) {
  const auto found = sets_.find(index);
  if (found == sets_.end()) {
    throw Error(fmt::format("this trainer does not evaluate task.eval_inputs[{}]", index));
  }
  return *found->second;
}

Value Evaluations::save_main() const {
  return main_->save_state();
}

void Evaluations::restore_main(const Value& state) {
  main_->restore_state(state);
}

Value Evaluations::save_sets() const {
  Value states = Value::table({});
  for (const auto& [index, set] : sets_) {
    states.set(task_.config().eval_inputs[index].name, set->save_state());
  }
  return states;
}

void Evaluations::restore_sets(const Value& states) {
  for (const auto& [index, set] : sets_) {
    const Value* state = states.find(task_.config().eval_inputs[index].name);
    if (state != nullptr) set->restore_state(*state);
  }
}

}  // namespace trivet
