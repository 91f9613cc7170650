// SPDX-License-Identifier: Apache-2.0
// A task that is made of others with names: what `trivet predict --task NAME` asks for one of them,
// and where a run finds the sets of their eval_inputs, which it evaluates by them. The task derives
// from Subtasks, too.
//
// Example (sdk/examples/snippets/task_extensions.cpp#subtasks):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kTaskSubtasks ? static_cast<const Subtasks*>(this) : nullptr;
//   }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/model.h"
#include "trivet/task.h"

namespace trivet {

// Id for Task::extension; what it returns points to a Subtasks.
inline constexpr std::string_view kTaskSubtasks = "trivet.task.subtasks/2";

class Subtasks {
 public:
  struct Entry {
    std::string name;
    std::string path;      // of its config below the task's, such as "tasks[0].task"
    Task* task = nullptr;  // lives as long as the whole task
    Model* model = nullptr;
  };
  // All tasks, in the order of the config, with their parts of `model`, which the whole task's
  // build_model made; without these if it is null. [run-thread]
  virtual std::vector<Entry> subtasks(Model* model) const = 0;

 protected:
  ~Subtasks() = default;
};

}  // namespace trivet
