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

// Whether the system was the reason, which may be over by the next try.
bool is_of_machine(const Error& error);

// Calls `build`, which makes what stands at `path` of a config, at the location `config`. RunError
// and InputError that are not of the machine become a ConfigError at the path they know, or else
// `path`; all others come through. Without a path only those that know one below `task` do.
void build_from_config(std::string_view path, const Origin& config,
                       const std::function<void()>& build);

// Calls `work`; of a ConfigError the problems without a location get that of their path in
// `config`, or of the nearest table around it. Where the path is that of a table and the text
// begins with the file that a field in it names, the field is meant.
void with_locations(const Value& config, const std::function<void()>& work);

}  // namespace trivet
