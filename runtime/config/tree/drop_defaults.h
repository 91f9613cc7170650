// SPDX-License-Identifier: Apache-2.0
// Removes default values from an encoded config struct.
#pragma once

#include "config/tree/typed_tree.h"
#include "trivet/config/value.h"

namespace trivet {

// Removes from `value` every member that equals the struct's default. A fully encoded struct then
// contains only the author's choices, so that [defaults."plugin/Name"] applies to the rest. A
// chosen value that equals the default is also removed.
void drop_defaults(Value& value, const TypedTree& tree, const SchemaNode& node);

}  // namespace trivet
