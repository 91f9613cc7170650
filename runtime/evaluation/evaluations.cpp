// SPDX-License-Identifier: Apache-2.0
#include "evaluation/evaluations.h"

#include <string>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {

Evaluations::Evaluations(Task& task, const Options& options) : task_(task), all_(eval_sets(task)) {
  use_main(options);
  for (const std::size_t index : options.sets) {
    const EvalSet& set = all_.at(index);
    sets_[index] = std::make_unique<Evaluation>(
        task_, set, set.config->input, options.data,
        ProgramOptions{options.seed, options.shards, options.processes});
  }
}

void Evaluations::use_main(const Options& options) {
  if (!options.main || (main_ && options.eval_input == eval_input_)) return;
  main_.reset();
  eval_input_ = options.eval_input;
  main_ = std::make_unique<Evaluation>(
      task_, EvalSet{.name = {}, .path = "task.eval_input", .config = nullptr, .task = &task_},
      options.eval_input, options.data,
      ProgramOptions{options.seed, options.shards, options.processes});
}

Evaluation& Evaluations::main() {
  if (!main_) throw Error("this trainer does not evaluate task.eval_input");
  return *main_;
}

Evaluation& Evaluations::set(std::size_t index) {
  const auto found = sets_.find(index);
  if (found == sets_.end()) {
    throw Error(fmt::format("this trainer does not evaluate the set {}", index));
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
    states.set(all_[index].name, set->save_state());
  }
  return states;
}

void Evaluations::restore_sets(const Value& states) {
  for (const auto& [index, set] : sets_) {
    const Value* state = states.find(all_[index].name);
    if (state != nullptr) set->restore_state(*state);
  }
}

}  // namespace trivet
