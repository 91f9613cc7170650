// SPDX-License-Identifier: Apache-2.0
// "${other.path}" in a config refers to another value of the same config. If it is the whole
// string, it becomes that value with its type, including tables. Inside a longer string it becomes
// the value's text. "$${" is a plain "${". "${config_dir}" is the folder of the file that contains
// it.
#pragma once

#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Replaces "${config_dir}" in every string of a file in `dir`. Done when a file is read, for a
// config is made of files in several folders.
void set_config_dir(Value& file, const std::string& dir);

// Replaces every reference below `root`, except below the members of `root` named in `skipped`.
// Reports invalid paths (with the nearest ones) and reference cycles (with the whole chain); their
// text stays. Returns the locations of these references.
std::vector<Origin> resolve_references(Value& root, const std::vector<std::string>& skipped,
                                       Diagnostics& diagnostics);

// The paths that references in `value` name, unchanged.
std::vector<std::string> reference_targets(const Value& value);

// The inverse, for writing a config that is read again: "${" becomes "$${" in every string.
void escape_references(Value& value);

}  // namespace trivet
