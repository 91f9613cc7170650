// SPDX-License-Identifier: Apache-2.0
#include "vision/blocks/residual_block.h"

#include <string>
#include <utility>

#include "trivet/ops.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {

ConfigOf<Layer> batch_norm(std::int64_t dim, const ConfigOf<Layer>& activation,
                           const ResidualOptions& options, double gamma) {
  Value fields = Value::table({{"dim", dim},
                               {"momentum", options.norm_momentum},
                               {"epsilon", options.norm_epsilon},
                               {"scale_init", encode(InitConfig{Init::constant, gamma})}});
  if (activation) fields.set("activation", activation.to_value());
  return {"nn/BatchNorm", std::move(fields)};
}

ResidualBlock::ResidualBlock(std::int64_t input_dims, std::int64_t width, std::int64_t stride,
                             bool bottleneck, const ResidualOptions& options, const Scope& scope)
    : output_dims_(bottleneck ? kExpansion * width : width) {
  const std::vector<Convolution> parts =
      bottleneck ? std::vector<Convolution>{{width, 1}, {width, 3, stride}, {output_dims_, 1}}
                 : std::vector<Convolution>{{width, 3, stride}, {width, 3}};
  const auto convolution = [&](std::int64_t dims, const Convolution& c) {
    return centered_convolution(dims, c.filters, c.kernel, {.stride = c.stride, .has_bias = false},
                                options.init);
  };
  std::int64_t dims = input_dims;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string number = std::to_string(i);
    const bool last = i + 1 == parts.size();
    const ConfigOf<Layer> activation = last ? ConfigOf<Layer>() : options.activation;
    convolutions_.push_back(scope.layer("conv_" + number, convolution(dims, parts[i])));
    dims = parts[i].filters;
    norms_.push_back(scope.layer("norm_" + number, batch_norm(dims, activation, options,
                                                              last && options.zero_init ? 0 : 1)));
  }
  if (options.se_ratio > 0) {
    squeeze_excitation_.emplace(output_dims_, options.se_ratio, options.init,
                                scope.child("squeeze_excitation"));
  }
  if (options.drop_rate > 0) drop_path_ = scope.layer("drop_path", drop_path(options.drop_rate));
  activation_ = scope.layer("activation", options.activation);
  if (stride == 1 && input_dims == output_dims_) return;
  const bool pooled = options.resnetd_shortcut && stride > 1;
  if (pooled) shortcut_pool_ = scope.layer("shortcut_pool", mean_pool(stride));
  shortcut_ =
      scope.layer("shortcut", convolution(input_dims, {output_dims_, 1, pooled ? 1 : stride}));
  shortcut_norm_ = scope.layer("shortcut_norm", batch_norm(output_dims_, {}, options));
}

Tensor ResidualBlock::fprop(const Tensor& x, FpropContext& context) {
  Tensor straight = x;
  if (shortcut_pool_) straight = shortcut_pool_->fprop(straight, context);
  if (shortcut_) straight = shortcut_norm_->fprop(shortcut_->fprop(straight, context), context);
  Tensor y = x;
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    y = norms_[i]->fprop(convolutions_[i]->fprop(y, context), context);
  }
  if (squeeze_excitation_) y = squeeze_excitation_->fprop(y, context);
  if (drop_path_) y = drop_path_->fprop(y, context);
  y = ops::add(straight, y);
  return activation_ ? activation_->fprop(y, context) : y;
}

}  // namespace trivet::vision
