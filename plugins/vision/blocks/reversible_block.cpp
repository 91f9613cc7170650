// SPDX-License-Identifier: Apache-2.0
#include "vision/blocks/reversible_block.h"

#include <string>

#include "trivet/ops.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {
namespace {

constexpr int kChannels = 3;  // the axis

Tensor through(const std::vector<std::shared_ptr<Layer>>& branch, Tensor x, FpropContext& context) {
  for (const auto& layer : branch) x = layer->fprop(x, context);
  return x;
}

// f or g, whose input has `dims` channels.
std::vector<std::shared_ptr<Layer>> branch(std::int64_t dims, const ReversibleBlock::Form& form,
                                           const ResidualOptions& options, const Scope& scope) {
  struct Convolution {
    std::int64_t filters, kernel;
  };
  const std::int64_t width = form.width / 2;
  const std::vector<Convolution> parts =
      form.bottleneck
          ? std::vector<Convolution>{{width, 1}, {width, 3}, {ResidualBlock::kExpansion * width, 1}}
          : std::vector<Convolution>{{width, 3}, {width, 3}};
  std::vector<std::shared_ptr<Layer>> layers;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 || form.norm_first) {
      layers.push_back(
          scope.layer("norm_" + std::to_string(i), batch_norm(dims, options.activation, options)));
    }
    layers.push_back(
        scope.layer("conv_" + std::to_string(i + 1),
                    centered_convolution(dims, parts[i].filters, parts[i].kernel,
                                         {.stride = i == 0 ? form.stride : 1, .has_bias = false},
                                         options.init)));
    dims = parts[i].filters;
  }
  return layers;
}

}  // namespace

ReversibleBlock::ReversibleBlock(std::int64_t input_dims, const Form& form,
                                 const ResidualOptions& options, const Scope& scope)
    : output_dims_(form.bottleneck ? ResidualBlock::kExpansion * form.width : form.width),
      f_(branch(input_dims / 2, form, options, scope.child("f"))) {
  Form second = form;
  second.stride = 1;
  g_ = branch(output_dims_ / 2, second, options, scope.child("g"));
  if (form.stride > 1) pool_ = scope.layer("pool", mean_pool(form.stride));
}

Tensor ReversibleBlock::fitted(const Tensor& half, FpropContext& context) const {
  const Tensor x = pool_ ? pool_->fprop(half, context) : half;
  const std::int64_t zeros = output_dims_ / 2 - x.dim(kChannels);
  return zeros > 0 ? ops::pad(x, kChannels, zeros / 2, zeros - zeros / 2) : x;
}

Tensor ReversibleBlock::fprop(const Tensor& x, FpropContext& context) {
  const std::int64_t dims = x.dim(kChannels);
  const Tensor x1 = ops::slice(x, kChannels, 0, dims / 2),
               x2 = ops::slice(x, kChannels, dims / 2, dims);
  const Tensor y1 = ops::add(fitted(x1, context), through(f_, x2, context));
  const Tensor y2 = ops::add(fitted(x2, context), through(g_, y1, context));
  return ops::concat(std::vector<Tensor>{y1, y2}, kChannels);
}

}  // namespace trivet::vision
