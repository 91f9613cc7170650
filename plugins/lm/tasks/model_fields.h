// SPDX-License-Identifier: Apache-2.0
// Fields of a model's config that its task determines, or that its inputs need.
#pragma once

#include <cstdint>
#include <string_view>

#include "trivet/model.h"
#include "trivet/task.h"

namespace trivet::lm {

// Returns the integer in a field; 0 if it is not set.
std::int64_t integer_field(const ConfigOf<Model>& config, std::string_view field);

// Returns the config with `value` in a field that is unset or 0. A null config stays null.
ConfigOf<Model> with_integer(const ConfigOf<Model>& config, std::string_view field,
                             std::int64_t value);

// Sets num_classes. Throws ConfigError if the model's config has another number.
ConfigOf<Model> with_num_classes(const ConfigOf<Model>& config, std::int64_t num_classes);

// Refuses task_ids of data/LanguageModel where no block of the model has adapter_tasks. Models with
// parts of other plugins than lm and nn pass, for these parts may read task ids by fields of their
// own.
void check_task_ids(const TaskConfig& config, Diagnostics& diagnostics);

}  // namespace trivet::lm
