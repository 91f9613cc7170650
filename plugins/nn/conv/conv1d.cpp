// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/conv1d.h"

#include <vector>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "trivet/extensions/activation.h"
#include "trivet/ops/ops_vision.h"

namespace trivet::nn {

struct Conv1d::Cache final : LayerCache {
  void reorder(std::span<const std::int32_t> rows) override {
    if (before.defined()) before = reordered(before, rows);
  }
  bool can_append_rows() const override { return true; }
  void align(std::int64_t) override {}
  void append_rows(const LayerCache& other) override {
    before = with_rows(before, static_cast<const Cache&>(other).before);
  }
  Tensor before;  // the last positions so far, as many as the kernel reaches back
};

Conv1d::Conv1d(const Config& config, Scope& scope)
    : path_(scope.path()),
      before_((config.kernel - 1 - (config.causal ? 0 : config.kernel / 2)) * config.dilation),
      after_((config.kernel - 1) * config.dilation - before_),
      dilation_(config.dilation),
      causal_(config.causal),
      weight_(scope.parameter("w", {config.kernel, config.input_dims, config.output_dims},
                              {.init = config.init})),
      bias_(config.has_bias
                ? &scope.parameter("b", {config.output_dims}, {.init = {Init::constant, 0}})
                : nullptr),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {}

Tensor Conv1d::counted(const Tensor& x, const FpropContext& context) const {
  if (x.rank() != 3 || x.dim(2) != weight_.shape()[1]) {
    wrong_input("nn/Conv1d", path_, "[B, T, " + std::to_string(weight_.shape()[1]) + "]", x);
  }
  const Tensor paddings = fitting(context.paddings, x);
  if (!paddings.defined()) return x;
  return ops::mul(x, ops::reshape(ops::add(ops::neg(paddings), 1), {x.dim(0), x.dim(1), 1}));
}

Tensor Conv1d::convolved(const Tensor& x, FpropContext& context) const {
  const Shape& w = weight_.shape();
  const Tensor rows = ops::reshape(x, {x.dim(0), 1, x.dim(1), x.dim(2)});
  const Tensor y = ops::conv2d(rows, ops::reshape(weight_.value(), {1, w[0], w[1], w[2]}),
                               bias_ != nullptr ? bias_->value() : Tensor(),
                               {.dilation = {1, dilation_}, .padding = Padding::valid},
                               fused_.value_or(Activation::none));
  const Tensor out = ops::reshape(y, {y.dim(0), y.dim(2), y.dim(3)});
  return fused_ ? out : activation_->fprop(out, context);
}

Tensor Conv1d::fprop(const Tensor& x, FpropContext& context) {
  const Tensor own = counted(x, context);
  const auto zeros = [&](std::int64_t positions) {
    return Tensor::zeros(x.device(), {x.dim(0), positions, x.dim(2)});
  };
  std::vector<Tensor> parts;
  if (before_ > 0) parts.push_back(zeros(before_));
  parts.push_back(own);
  if (after_ > 0) parts.push_back(zeros(after_));
  return convolved(ops::concat(parts, 1), context);
}

std::unique_ptr<LayerCache> Conv1d::make_cache(std::int64_t, std::int64_t) const {
  if (causal_) return std::make_unique<Cache>();
  throw Error("[nn/Conv1d] '" + path_ +
                  "': a convolution that sees later positions cannot decode with a cache",
              {.hint = "set causal = true"});
}

Tensor Conv1d::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  auto& past = static_cast<Cache&>(cache);
  const Tensor own = counted(x, context);
  if (before_ == 0) return convolved(own, context);
  if (!past.before.defined()) {
    past.before = Tensor::zeros(x.device(), {x.dim(0), before_, x.dim(2)});
  }
  const Tensor all = ops::concat(std::vector<Tensor>{past.before, own}, 1);
  past.before = ops::slice(all, 1, x.dim(1), x.dim(1) + before_);
  return convolved(all, context);
}

}  // namespace trivet::nn
