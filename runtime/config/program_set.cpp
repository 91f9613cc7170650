// SPDX-License-Identifier: Apache-2.0
#include "config/program_set.h"

#include <algorithm>
#include <optional>
#include <string>

#include "config/modes.h"
#include "trivet/config/enums.h"

namespace trivet {

void add_program_set(Value& root) {
  const std::optional<Mode> mode = enum_from_name<Mode>(root.string_or("mode"));
  if (!mode || !traits_of(*mode).program || *mode == Mode::eval) return;
  const std::string program(enum_name(*traits_of(*mode).program));
  Value* task = root.find("task");
  if (task == nullptr || !task->is_table()) return;
  const Value* input = task->find("eval_input");
  if (input == nullptr || (input->is_string() && input->as_string() == "none")) return;
  Value* sets = task->find("eval_inputs");
  if (sets != nullptr && !sets->is_array()) return;
  const auto has_program = [&](const Value& set) {
    return set.is_table() && set.string_or("program") == program;
  };
  if (sets != nullptr && std::any_of(sets->items().begin(), sets->items().end(), has_program)) {
    return;
  }
  Value set = Value::table({{"name", "eval_input"}, {"program", program}});
  set.set("input", *input);
  const auto origin = input->origin();  // a new member of the task would leave `input` dangling
  if (sets == nullptr) sets = &task->set("eval_inputs", Value::array());
  sets->push_back(std::move(set)).set_origin(origin);
}

}  // namespace trivet
