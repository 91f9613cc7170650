// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/group_norm.h"

#include <vector>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// x [B, T, .., dim] -> [B, T, P, G, D]: P positions inside a position of the sequence.
Tensor grouped(const Tensor& x, std::int64_t groups) {
  const std::int64_t dim = x.dim(-1), batch = x.dim(0), length = x.dim(1);
  return ops::reshape(x, {batch, length, x.size() / (batch * length * dim), groups, dim / groups});
}

// [B, T, P, G, D] -> [B, T, 1, G, 1]
Tensor sum_of_position(const Tensor& x) {
  return ops::sum(ops::sum(x, 4, {.keep_dims = true}), 2, {.keep_dims = true});
}

// 1 for the positions that count, [B, T, 1, 1, 1]; undefined if all do.
Tensor counted_positions(const Tensor& x, const FpropContext& context) {
  const Tensor paddings = fitting(context.paddings, x);
  if (!paddings.defined()) return {};
  NoGrad no_grad;
  return ops::reshape(ops::add(ops::neg(paddings), 1), {x.dim(0), x.dim(1), 1, 1, 1});
}

Tensor only(const Tensor& x, const Tensor& counted) {
  return counted.defined() ? ops::mul(x, counted) : x;
}

// Adds up over the positions so far, [B, T, 1, G, 1] -> the same; not across segments.
class SumsSoFar {
 public:
  // ids and those of the last position before x [B, 1] are undefined without segments.
  SumsSoFar(const Tensor& ids, const Tensor& last) {
    if (!ids.defined()) return;
    NoGrad no_grad;
    const std::int64_t batch = ids.dim(0), length = ids.dim(1);
    const Tensor own = ops::reshape(ids, {batch, length, 1});
    const Tensor same = ops::equal(own, ops::reshape(ids, {batch, 1, length}));
    const Tensor ones = Tensor::full(ids.device(), {length, length}, 1);
    const Tensor before = ops::less(ops::cumsum(ones, 1), ops::add(ops::cumsum(ones, 0), 0.5F));
    sees_ = ops::mul(ops::cast(same, DType::f32), ops::cast(before, DType::f32));
    if (!last.defined()) return;
    continues_ =
        ops::reshape(ops::cast(ops::equal(ids, last), DType::f32), {batch, length, 1, 1, 1});
  }

  // `before` [B, 1, 1, G, 1] or undefined.
  Tensor operator()(const Tensor& x, const Tensor& before) const {
    const Tensor so_far = sees_.defined() ? within_segments(x) : ops::cumsum(x, 1);
    if (!before.defined()) return so_far;
    return ops::add(so_far, continues_.defined() ? ops::mul(before, continues_) : before);
  }

 private:
  Tensor within_segments(const Tensor& x) const {
    const Tensor rows = ops::reshape(x, {x.dim(0), x.dim(1), x.dim(3)});
    return ops::reshape(ops::matmul(sees_, rows), x.shape());
  }
  Tensor sees_;       // [B, T, T]
  Tensor continues_;  // [B, T, 1, 1, 1]
};

Tensor last_position(const Tensor& x) {
  return ops::contiguous(ops::slice(x, 1, x.dim(1) - 1, x.dim(1)));
}

}  // namespace

// The sums so far, [B, 1, 1, G or 1, 1] each; undefined before the first position.
struct GroupNorm::Cache final : LayerCache {
  void reorder(std::span<const std::int32_t> rows) override {
    for (Tensor* each : {&count, &sum, &squares, &segment}) {
      if (each->defined()) *each = reordered(*each, rows);
    }
  }
  Tensor count, sum, squares;
  Tensor segment;  // i32 [B, 1] of the last position, if any
};

void GroupNormConfig::validate(Diagnostics& diagnostics) const {
  if (dim % num_groups != 0) {
    diagnostics.add("num_groups", "does not divide dim = " + std::to_string(dim),
                    "all groups have the same number of channels");
  }
}

GroupNorm::GroupNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/GroupNorm", path_, "dim", config.dim)),
      groups_(config.num_groups),
      epsilon_(static_cast<float>(config.epsilon)),
      cumulative_(config.cumulative),
      scale_(scope.parameter("scale", {dim_}, {.init = {Init::constant, 1}})),
      bias_(scope.parameter("bias", {dim_}, {.init = {Init::constant, 0}})) {}

Tensor GroupNorm::scaled(const Tensor& x) const {
  return ops::add(ops::mul(x, scale_.value()), bias_.value());
}

Tensor GroupNorm::normalized(const Tensor& x) const {
  const std::int64_t examples = x.dim(0), depth = dim_ / groups_;
  const std::int64_t positions = x.size() / (examples * dim_);
  // Each group becomes one row, for the norm kernel.
  const Tensor columns =
      ops::transpose(ops::reshape(x, {examples, positions, groups_, depth}), {0, 2, 1, 3});
  const Tensor rows =
      ops::reshape(ops::contiguous(columns), {examples, groups_, positions * depth});
  const Tensor normal = ops::layer_norm(rows, {}, {}, epsilon_);
  const Tensor back =
      ops::transpose(ops::reshape(normal, {examples, groups_, positions, depth}), {0, 2, 1, 3});
  return scaled(ops::reshape(ops::contiguous(back), x.shape()));
}

Tensor GroupNorm::normalized_over(const Tensor& x, const Tensor& counted) const {
  const Tensor parts = grouped(x, groups_);
  const auto elements = static_cast<float>(parts.dim(2) * parts.dim(4));
  const auto mean_of = [&](const Tensor& of) {
    const Tensor count = ops::mul(ops::sum(counted, 1, {.keep_dims = true}), elements);
    const Tensor at_least_one = ops::max(count, Tensor::scalar(x.device(), 1));
    const Tensor sums = sum_of_position(ops::mul(of, counted));
    return ops::div(ops::sum(sums, 1, {.keep_dims = true}), at_least_one);
  };
  const Tensor centered = ops::sub(parts, mean_of(parts));
  const Tensor variance = mean_of(ops::square(centered));
  const Tensor normal = ops::mul(centered, ops::rsqrt(ops::add(variance, epsilon_)));
  const Tensor y = grouped(scaled(ops::reshape(normal, x.shape())), groups_);
  return ops::reshape(ops::mul(y, counted), x.shape());
}

Tensor GroupNorm::normalized_so_far(const Tensor& x, const FpropContext& context,
                                    Cache& past) const {
  if (x.size() == 0) return x;
  const Tensor parts = grouped(x, groups_), counted = counted_positions(x, context);
  const Tensor ids = fitting(context.segment_ids, x);
  const SumsSoFar so_far(ids, past.segment);
  const auto elements = static_cast<float>(parts.dim(2) * parts.dim(4));
  const Tensor ones = Tensor::full(x.device(), {x.dim(0), x.dim(1), 1, 1, 1}, elements);
  past.count = so_far(only(ones, counted), past.count);
  const Tensor count = ops::max(past.count, Tensor::scalar(x.device(), 1));
  past.sum = so_far(only(sum_of_position(parts), counted), past.sum);
  const Tensor centered = ops::sub(parts, ops::div(past.sum, count));
  past.squares = so_far(only(sum_of_position(ops::square(centered)), counted), past.squares);
  const Tensor variance = ops::div(past.squares, count);
  const Tensor normal = ops::mul(centered, ops::rsqrt(ops::add(variance, epsilon_)));
  for (Tensor* sums : {&past.count, &past.sum, &past.squares}) *sums = last_position(*sums);
  if (ids.defined()) past.segment = last_position(ids);
  const Tensor y = scaled(ops::reshape(normal, x.shape()));
  return ops::reshape(only(grouped(y, groups_), counted), x.shape());
}

Tensor GroupNorm::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/GroupNorm", path_, x, dim_);
  if (x.rank() < (cumulative_ ? 3 : 2)) {
    const std::string shape = cumulative_ ? "[B, T, .., " : "[B, .., ";
    wrong_input("nn/GroupNorm", path_, shape + std::to_string(dim_) + "]", x);
  }
  if (x.size() == 0) return x;
  Cache none;
  if (cumulative_) return normalized_so_far(x, context, none);
  const Tensor counted = x.rank() > 2 ? counted_positions(x, context) : Tensor();
  return counted.defined() ? normalized_over(x, counted) : normalized(x);
}

const void* GroupNorm::extension(std::string_view id) const noexcept {
  if (id != kLayerExtendStep || !cumulative_) return nullptr;
  return static_cast<const ExtendStep*>(this);
}

std::unique_ptr<LayerCache> GroupNorm::make_cache(std::int64_t, std::int64_t) const {
  return std::make_unique<Cache>();
}

Tensor GroupNorm::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  expect_last("nn/GroupNorm", path_, x, dim_);
  return normalized_so_far(x, context, static_cast<Cache&>(cache));
}

}  // namespace trivet::nn
