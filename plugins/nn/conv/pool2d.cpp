// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/pool2d.h"

#include "nn/basic/checks.h"

namespace trivet::nn {
namespace {

WindowOptions options_of(const Pool2dConfig& config) {
  return {.stride = pair_of(config.stride.empty() ? config.window : config.stride),
          .padding = padding_of(config.padding),
          .pad = pair_of(config.pad)};
}

}  // namespace

void Pool2dConfig::validate(Diagnostics& diagnostics) const {
  check_pair(diagnostics, "window", window);
  if (!stride.empty()) check_pair(diagnostics, "stride", stride);
  check_pad(diagnostics, padding, pad);
  // Kernels store the position of the maximum in one byte.
  if (!window.empty() && window.front() * window.back() > 256) {
    diagnostics.add("window", "has more than 256 positions");
  }
  // Such a window could contain only padding, which has no value to pool.
  const bool paired = pad.size() <= 2 && window.size() <= 2 && !pad.empty() && !window.empty();
  if (paired && (pad.front() >= window.front() || pad.back() >= window.back())) {
    diagnostics.add("pad", "must be less than the window");
  }
}

MaxPool2d::MaxPool2d(const Config& config, Scope& scope)
    : path_(scope.path()), window_(pair_of(config.window)), options_(options_of(config)) {}

Tensor MaxPool2d::fprop(const Tensor& x, FpropContext&) {
  expect_image("nn/MaxPool2d", path_, x);
  return ops::max_pool2d(x, window_, options_);
}

AvgPool2d::AvgPool2d(const Config& config, Scope& scope)
    : path_(scope.path()), window_(pair_of(config.window)), options_(options_of(config)) {}

Tensor AvgPool2d::fprop(const Tensor& x, FpropContext&) {
  expect_image("nn/AvgPool2d", path_, x);
  return ops::avg_pool2d(x, window_, options_);
}

GlobalAvgPool2d::GlobalAvgPool2d(const Config&, Scope& scope) : path_(scope.path()) {}

Tensor GlobalAvgPool2d::fprop(const Tensor& x, FpropContext&) {
  expect_image("nn/GlobalAvgPool2d", path_, x);
  return ops::mean(ops::reshape(x, {x.dim(0), x.dim(1) * x.dim(2), x.dim(3)}), 1);
}

}  // namespace trivet::nn
