// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/model_fields.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "trivet/error.h"

namespace trivet::lm {
namespace {

bool is_of_other_plugin(std::string_view key) {
  return key.find('/') != std::string_view::npos && !key.starts_with("lm/") &&
         !key.starts_with("nn/");
}

// Of a part of a model's config.
bool may_read_task_ids(const Value& part) {
  if (part.is_string()) return is_of_other_plugin(part.as_string());
  if (part.is_array()) return std::ranges::any_of(part.items(), may_read_task_ids);
  if (!part.is_table()) return false;
  return part.integer_or("adapter_tasks", 0) > 0 ||
         std::ranges::any_of(part.members(), [](const Value::Member& member) {
           return may_read_task_ids(member.value);
         });
}

}  // namespace

std::int64_t integer_field(const ConfigOf<Model>& config, std::string_view field) {
  return config.fields().integer_or(field, 0);
}

ConfigOf<Model> with_integer(const ConfigOf<Model>& config, std::string_view field,
                             std::int64_t value) {
  if (!config.has_value() || integer_field(config, field) != 0) return config;
  Value fields = config.fields();
  fields.set(field, value);
  return {std::string(config.key()), std::move(fields)};
}

ConfigOf<Model> with_num_classes(const ConfigOf<Model>& config, std::int64_t num_classes) {
  const std::int64_t own = integer_field(config, "num_classes");
  if (own == 0 || own == num_classes) return with_integer(config, "num_classes", num_classes);
  throw ConfigError(Diagnostic{.path = "task.model.num_classes",
                               .what = "is " + std::to_string(own) + ", but the task has " +
                                       std::to_string(num_classes) + " classes",
                               .hint = "remove it"});
}

void check_task_ids(const TaskConfig& config, Diagnostics& diagnostics) {
  if (!config.model || may_read_task_ids(config.model.to_value())) return;
  const auto check = [&](const ConfigOf<Input>& input, const std::string& path) {
    if (input.key() != "data/LanguageModel" || input.fields().string_or("task_ids").empty()) return;
    diagnostics.add(path + ".task_ids", "has no effect: no block of the model has adapter_tasks",
                    "remove it, or set adapter_tasks and adapter_dims of the blocks");
  };
  check(config.train_input, "train_input");
  check(config.eval_input, "eval_input");
  for (std::size_t i = 0; i < config.eval_inputs.size(); ++i) {
    check(config.eval_inputs[i].input, joined_path("eval_inputs", i) + ".input");
  }
}

}  // namespace trivet::lm
