// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/templates.h"

#include <utility>

#include "nn/basic/linear.h"

namespace trivet::nn {
namespace {

constexpr double kNormEpsilon = 1e-6;  // the default of LayerNorm, RmsNorm and TransformerBlock

}  // namespace

ConfigOf<Layer> norm_for(ConfigOf<Layer> layer, std::int64_t dims, double epsilon) {
  if (!layer) return layer;
  complete(layer, "dim", dims, 0);
  if (epsilon != kNormEpsilon) complete(layer, "epsilon", epsilon, kNormEpsilon);
  return layer;
}

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out, bool has_bias, const InitConfig& init,
                       const LoraConfig& lora, const ConfigOf<Layer>& activation) {
  Value fields = Value::table(
      {{"input_dims", in}, {"output_dims", out}, {"has_bias", has_bias}, {"init", encode(init)}});
  if (lora.rank > 0) fields.set("lora", encode(lora));
  if (activation) fields.set("activation", activation.to_value());
  return {"nn/Linear", std::move(fields)};
}

ConfigOf<Layer> with_split(ConfigOf<Layer> linear, const SplitDims& wt) {
  complete_members(linear, "weight_split_dims_mapping", encode(LinearSplitConfig{.wt = wt}));
  return linear;
}

ConfigOf<Layer> dropout(double rate) {
  if (rate == 0) return {};
  return {"nn/Dropout", Value::table({{"rate", rate}})};
}

}  // namespace trivet::nn
