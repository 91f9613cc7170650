// SPDX-License-Identifier: Apache-2.0
// Templates of layers: configs that a layer completes for its children.
#pragma once

#include <string_view>

#include "trivet/config_of.h"
#include "trivet/layer.h"

namespace trivet::nn {

// Sets a field that the template leaves out, or at `unset`, its default, or at "none".
void complete(ConfigOf<Layer>& layer, std::string_view field, Value value, const Value& unset);

// A template of a norm for `dims`; an epsilon that is not both norms' default replaces its own.
ConfigOf<Layer> norm_for(ConfigOf<Layer> layer, std::int64_t dims, double epsilon);

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out, bool has_bias, const InitConfig& init,
                       const ConfigOf<Layer>& activation = {});

// Nothing for a rate of 0, so that nothing stands in the list of layers.
ConfigOf<Layer> dropout(double rate);

// `init` unless it leaves the choice to `otherwise`.
inline const InitConfig& init_or(const InitConfig& init, const InitConfig& otherwise) {
  return init.method == Init::layer_default ? otherwise : init;
}

}  // namespace trivet::nn
