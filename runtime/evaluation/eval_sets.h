// SPDX-License-Identifier: Apache-2.0
// EvalSet: one data set that a run evaluates, and the task that evaluates it: the run's, or one of
// those that it is made of (Subtasks).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trivet/task.h"

namespace trivet {

struct EvalSet {
  std::string name;  // "test"; of the task "clothes", "clothes/test"; empty: task.eval_input
  std::string path;  // in the config
  const EvalInputConfig* config = nullptr;  // null: task.eval_input
  Task* task = nullptr;                     // its own, which owns `config`
  std::vector<std::size_t> position{};      // of the task in Subtasks, from the whole one down
};

// The sets of task.eval_inputs, then those of each task that it is made of: what TrainerContext and
// Trainer::evaluate_set count. They live as long as the task.
std::vector<EvalSet> eval_sets(Task& whole);

// Whether task.eval_input, or the inputs that such a task makes itself, are evaluated: not if there
// are sets alone.
bool has_main_evaluation(Task& whole);

// Where a config has the sets of this task, or of the first of those that it is made of.
std::string path_of_sets(Task& whole);

// The part of `model`, which the whole task built, that belongs to the set's task.
Model& model_of(const EvalSet& set, Task& whole, Model& model);

}  // namespace trivet
