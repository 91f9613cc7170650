// SPDX-License-Identifier: Apache-2.0
// Templates that layers make for their children (trivet/layer/layer_template.h).
#pragma once

#include <cstdint>

#include "nn/basic/lora.h"
#include "trivet/layer.h"
#include "trivet/layer/layer_template.h"
#include "trivet/layer/split_dims.h"

namespace trivet::nn {

// A template of a norm for `dims`. `epsilon` overrides the norm's own unless it equals the default.
ConfigOf<Layer> norm_for(ConfigOf<Layer> layer, std::int64_t dims, double epsilon);

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out, bool has_bias, const InitConfig& init,
                       const LoraConfig& lora, const ConfigOf<Layer>& activation = {});

// An nn/Linear whose weights are split so.
ConfigOf<Layer> with_split(ConfigOf<Layer> linear, const SplitDims& wt);

// Empty for a rate of 0, so that the layer list has no such layer.
ConfigOf<Layer> dropout(double rate);

// Returns `init`, or `otherwise` if `init` is unset.
inline const InitConfig& init_or(const InitConfig& init, const InitConfig& otherwise) {
  return init.method == Init::layer_default ? otherwise : init;
}

}  // namespace trivet::nn
