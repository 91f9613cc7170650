// SPDX-License-Identifier: Apache-2.0
// A valid config may refer to wrong data: a missing file, a column that no table has, a checkpoint
// of another model. These are config errors with the location of the field, because a retry never
// helps. Errors of the machine are not: a disk that is full or does not respond.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

// Whether the system caused the error, so that the next attempt may succeed.
bool is_of_machine(const Error& error);

// Calls `build`, which builds the object at `path` of a config with the location `config`. RunError
// and InputError that the machine did not cause become a ConfigError at their own path, or else at
// `path`; other errors are not changed. Without `path` only errors with a path below `task` are
// converted.
void build_from_config(std::string_view path, const Origin& config,
                       const std::function<void()>& build);

// Calls `work`. In a ConfigError, errors without a location get that of their path in `config`, or
// of the nearest surrounding table. If the path is a table and the message starts with a file that
// one of its fields names, the error refers to that field.
void with_locations(const Value& config, const std::function<void()>& work);

}  // namespace trivet
