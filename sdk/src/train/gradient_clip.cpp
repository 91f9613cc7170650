// SPDX-License-Identifier: Apache-2.0
#include "train/gradient_clip.h"

#include <cmath>

#include "layer/block_layout.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::detail {

void apply_scalar(tv_binary_op op, Tensor& x, const Tensor& scalar) {
  if (x.size() == 0) return;
  Device& device = x.device();
  const tv_view out = x.mutable_view();
  const tv_view in = x.view();
  const tv_view number = ops::expand(scalar, x.shape()).view();
  device.call("binary", &tv_backend::binary, op, &out, &in, &number);
}

GradientClip::GradientClip(ParameterStore& store, const GradientClipConfig& config)
    : store_(store), config_(config) {
  for (const auto& parameter : store.parameters()) {
    if (parameter->trainable()) variables_.push_back({parameter.get(), {}, {}});
  }
  squares_ = Tensor::zeros(store.device(), {static_cast<std::int64_t>(variables_.size())});
  std::int64_t index = 0;
  for (Variable& variable : variables_) {
    const std::int64_t begin = store.offset_of(*variable.parameter);
    const std::int64_t end = begin + variable.parameter->shape().size();
    variable.gradient = part_of(store.trainable_gradients(), begin, end);
    variable.square = part_of(squares_, index, index + 1);
    ++index;
  }
  total_square_ = Tensor::zeros(store.device(), {1});
  if (config_.value <= 0) return;
  const auto bound = static_cast<float>(config_.value);
  lower_ = Tensor::scalar(store.device(), -bound);
  upper_ = Tensor::scalar(store.device(), bound);
}

std::vector<double> GradientClip::variable_norms() {
  for (Variable& variable : variables_) sum_of_squares(variable.square, variable.gradient);
  std::vector<double> norms;
  for (const float square : squares_.to_host<float>()) {
    norms.push_back(std::sqrt(static_cast<double>(square)));
  }
  return norms;
}

// Scales variables whose norm is too large; the common norm afterwards follows without a look at
// the gradients.
GradientClip::Norms GradientClip::clip_variables() {
  Norms total;
  const std::vector<double> norms = variable_norms();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    double norm = norms[i];
    total.before += norm * norm;
    if (norm > config_.per_variable_norm) {
      const auto factor = static_cast<float>(config_.per_variable_norm / norm);
      apply_scalar(TV_MUL, variables_[i].gradient, Tensor::scalar(store_.device(), factor));
      norm = config_.per_variable_norm;
    }
    total.after += norm * norm;
  }
  return {std::sqrt(total.before), std::sqrt(total.after)};
}

double GradientClip::norm_of_all() {
  sum_of_squares(total_square_, store_.trainable_gradients());
  return std::sqrt(static_cast<double>(total_square_.to_host<float>().front()));
}

GradientClip::Result GradientClip::norm_alone() {
  return {.norm = norm_of_all(), .scale = 1};
}

GradientClip::Result GradientClip::apply(bool wants_norm) {
  if (config_.value > 0) {
    apply_scalar(TV_MAX, store_.trainable_gradients(), lower_);
    apply_scalar(TV_MIN, store_.trainable_gradients(), upper_);
  }
  if (!wants_norm && config_.per_variable_norm <= 0 && config_.global_norm <= 0) return {};
  Norms norms;
  if (config_.per_variable_norm > 0) {
    norms = clip_variables();
  } else {
    norms.before = norm_of_all();
    norms.after = norms.before;
  }
  Result result{.norm = norms.before, .scale = 1};
  if (config_.global_norm > 0 && norms.after > config_.global_norm) {
    result.scale = static_cast<float>(config_.global_norm / norms.after);
  }
  return result;
}

std::string GradientClip::first_not_finite() {
  const std::vector<double> norms = variable_norms();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (!std::isfinite(norms[i])) return variables_[i].parameter->path();
  }
  return "";
}

}  // namespace trivet::detail
