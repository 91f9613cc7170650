// SPDX-License-Identifier: Apache-2.0
//
// "${other.path}" in a config refers to another value of the same config. As the whole string it
// is that value, with its type, tables included; inside a longer string it is the value's text.
// "$${" stands for a plain "${".
#pragma once

#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Replaces every reference below `root`, except under the members of `root` named in `skipped`.
// A path that leads nowhere (with the nearest ones) and references that lead back to themselves
// (with the whole chain) are reported; the text then stays. Returns the locations of those.
std::vector<Origin> resolve_references(Value& root, const std::vector<std::string>& skipped,
                                       Diagnostics& diagnostics);

// The paths that references anywhere in `value` name, as they are written there.
std::vector<std::string> reference_targets(const Value& value);

// The opposite, for writing a config that is read again: "${" becomes "$${" in every string.
void escape_references(Value& value);

}  // namespace trivet
