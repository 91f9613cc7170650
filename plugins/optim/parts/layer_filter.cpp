// SPDX-License-Identifier: Apache-2.0
#include "optim/parts/layer_filter.h"

#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

Tensor norm_of(const Tensor& x) {
  Tensor square = Tensor::empty(x.device(), {1});
  sum_of_squares(square, x);
  return ops::sqrt(square);
}

}  // namespace

void LayerAdaptationConfig::validate(Diagnostics& diagnostics) const {
  DecayConfig::validate(diagnostics);
  if (!exclude_from_layer_adaptation) return;
  check_patterns(diagnostics, "exclude_from_layer_adaptation", *exclude_from_layer_adaptation);
}

LayerFilter::LayerFilter(const LayerAdaptationConfig& config)
    : decay_(config),
      not_adapted_texts_(
          config.exclude_from_layer_adaptation.value_or(config.exclude_from_weight_decay)),
      not_adapted_(not_adapted_texts_) {}

void LayerFilter::check_variables(std::span<const Parameter* const> variables) const {
  decay_.check_variables(variables);
  expect_found(not_adapted_texts_, "exclude_from_layer_adaptation", variables);
}

std::int64_t LayerFilter::group_of(const Parameter& parameter) const {
  std::int64_t group = 0;
  if (decay_.group_of(parameter) == DecayFilter::kDoesNotDecay) group |= kNoDecay;
  if (not_adapted_.found_in(parameter.path())) group |= kNoAdaptation;
  return group;
}

Tensor trust_ratio(const Tensor& a, const Tensor& b, double coefficient) {
  const Tensor norm_a = norm_of(a), norm_b = norm_of(b);
  const Tensor zero = Tensor::zeros(a.device(), {1}), one = Tensor::full(a.device(), {1}, 1);
  const Tensor scale = ops::mul(ops::div(norm_a, norm_b), static_cast<float>(coefficient));
  const Tensor ratio = ops::where(ops::less(zero, norm_b), scale, one);
  return ops::where(ops::less(zero, norm_a), ratio, one);
}

}  // namespace trivet::optim
