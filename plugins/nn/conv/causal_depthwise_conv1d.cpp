// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/causal_depthwise_conv1d.h"

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// f32 [B, T, 1]: 1 where the position is `least` or more.
Tensor is_at_least(const Tensor& positions, std::int64_t least) {
  NoGrad no_grad;
  const Tensor bound = Tensor::scalar(positions.device(), static_cast<float>(least) - 0.5F);
  const Tensor reached = ops::less(bound, ops::cast(positions, DType::f32));
  return ops::reshape(ops::cast(reached, DType::f32), {positions.dim(0), positions.dim(1), 1});
}

}  // namespace

struct CausalDepthwiseConv1d::Cache final : LayerCache {
  void reorder(std::span<const std::int32_t> rows) override {
    if (before.defined()) before = reordered(before, rows);
  }
  bool can_append_rows() const override { return true; }
  void align(std::int64_t) override {}
  void append_rows(const LayerCache& other) override {
    before = with_rows(before, static_cast<const Cache&>(other).before);
  }
  Tensor before;  // the last kernel - 1 positions so far
};

CausalDepthwiseConv1d::CausalDepthwiseConv1d(const Config& config, Scope& scope)
    : path_(scope.path()), dims_(config.dims) {
  for (std::int64_t k = 0; k < config.kernel; ++k) {
    const double start = k == 0 ? 0.5 : 0.5 / static_cast<double>(config.kernel);
    weights_.push_back(
        &scope.parameter("w_" + std::to_string(k), {dims_}, {.init = {Init::constant, start}}));
  }
}

Tensor CausalDepthwiseConv1d::with_zeros_before(const Tensor& x) const {
  if (x.rank() != 3 || x.dim(2) != dims_) {
    wrong_input("nn/CausalDepthwiseConv1d", path_, "[B, T, " + std::to_string(dims_) + "]", x);
  }
  const auto before = static_cast<std::int64_t>(weights_.size()) - 1;
  return before > 0 ? ops::pad(x, 1, before, 0) : x;
}

Tensor CausalDepthwiseConv1d::convolved(const Tensor& x, const Tensor& all,
                                        const FpropContext& context) const {
  const Tensor positions = fitting(context.positions, x);
  const auto before = static_cast<std::int64_t>(weights_.size()) - 1;
  Tensor y = ops::mul(x, weights_[0]->value());
  for (std::int64_t k = 1; k <= before; ++k) {
    const Tensor earlier = ops::slice(all, 1, before - k, before - k + x.dim(1));
    Tensor term = ops::mul(earlier, weights_[static_cast<std::size_t>(k)]->value());
    if (positions.defined()) term = ops::mul(term, is_at_least(positions, k));
    y = ops::add(y, term);
  }
  return y;
}

Tensor CausalDepthwiseConv1d::fprop(const Tensor& x, FpropContext& context) {
  return convolved(x, with_zeros_before(x), context);
}

std::unique_ptr<LayerCache> CausalDepthwiseConv1d::make_cache(std::int64_t, std::int64_t) const {
  return std::make_unique<Cache>();
}

Tensor CausalDepthwiseConv1d::extend_step(const Tensor& x, LayerCache& cache,
                                          FpropContext& context) {
  auto& past = static_cast<Cache&>(cache);
  Tensor all = with_zeros_before(x);
  if (past.before.defined()) all = ops::concat(std::vector<Tensor>{past.before, x}, 1);
  past.before = ops::contiguous(ops::slice(all, 1, x.dim(1), all.dim(1)));
  return convolved(x, all, context);
}

}  // namespace trivet::nn
