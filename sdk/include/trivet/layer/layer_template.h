// SPDX-License-Identifier: Apache-2.0
// Templates of layers: configs that leave to the layer or the model around them what only that one
// knows, such as its depth.
//
// Example (sdk/examples/snippets/layer.cpp#template):
//
//   ConfigOf<Layer> block = config.block_tpl;
//   complete(block, "input_dims", config.model_dims, 0);  // unless the template says otherwise
//   layers.push_back(scope.layer("block", block));
#pragma once

#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/config_of.h"
#include "trivet/layer.h"

namespace trivet {

// Sets `field` to `value` where the template leaves it out, at "none", or at `unset`, which is the
// field's default. Numbers are compared as numbers: a 0 of a file is 0.0, too. A `value` that is
// `unset` sets nothing, so layers need not have a field that is not used.
TRIVET_API void complete(ConfigOf<Layer>& layer, std::string_view field, Value value,
                         const Value& unset);

// Sets those members of the table `field` that the template leaves out, or has at "none" or as an
// empty list. Members of `table` that are empty lists set nothing. The template must be of a layer
// with this field.
TRIVET_API void complete_members(ConfigOf<Layer>& layer, std::string_view field,
                                 const Value& table);

}  // namespace trivet
