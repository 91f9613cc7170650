// SPDX-License-Identifier: Apache-2.0
// Fields of a model's config that its task knows better.
#pragma once

#include <cstdint>
#include <string_view>

#include "trivet/model.h"

namespace trivet::lm {

// The integer in a field; 0 where it is not set.
std::int64_t integer_field(const ConfigOf<Model>& config, std::string_view field);

// With `value` in a field that is left out or 0. A null config stays null.
ConfigOf<Model> with_integer(const ConfigOf<Model>& config, std::string_view field,
                             std::int64_t value);

// With num_classes. Throws ConfigError for a model that is told another number.
ConfigOf<Model> with_num_classes(const ConfigOf<Model>& config, std::int64_t num_classes);

}  // namespace trivet::lm
