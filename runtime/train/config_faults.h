// SPDX-License-Identifier: Apache-2.0
// What a config names may be wrong without the config's form being so: a file of data that is not
// there, a column that no table has, a checkpoint of another model. Such an error is the config's,
// with the location of the field: trying again never helps. One of the machine is not: a disk that
// is full or gives no answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

// Whether the system caused the error, which may be gone on the next attempt.
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
