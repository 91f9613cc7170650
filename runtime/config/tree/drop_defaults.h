// SPDX-License-Identifier: Apache-2.0
//
// What a config struct says beyond its defaults.
#pragma once

#include "config/tree/typed_tree.h"
#include "trivet/config/value.h"

namespace trivet {

// Takes out of `value` every member that is what the struct would hold anyway. A struct that was
// encoded whole then says only what its author chose, so that [defaults."plugin/Name"] reaches the
// rest. Whoever chooses a value that is the default anyway cannot be told from one who does not.
void drop_defaults(Value& value, const TypedTree& tree, const SchemaNode& node);

}  // namespace trivet
