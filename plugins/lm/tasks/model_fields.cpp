// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/model_fields.h"

#include <string>
#include <utility>

#include "trivet/error.h"

namespace trivet::lm {

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

}  // namespace trivet::lm
