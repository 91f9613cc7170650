// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/recurrent.h"

#include <algorithm>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// 1 if a position is in another segment than the one read before it, f32 [B, T]. The first is
// compared with `before` [B, 1], or is 0 without it.
Tensor starts_of(const Tensor& ids, const Tensor& before, bool reverse) {
  NoGrad no_grad;
  const std::int64_t length = ids.dim(1);
  const Tensor edge = before.defined()
                          ? before
                          : ops::slice(ids, 1, reverse ? length - 1 : 0, reverse ? length : 1);
  const std::vector<Tensor> parts =
      reverse ? std::vector<Tensor>{ops::slice(ids, 1, 1, length), edge}
              : std::vector<Tensor>{edge, ops::slice(ids, 1, 0, length - 1)};
  const Tensor same = ops::cast(ops::equal(ids, ops::concat(parts, 1)), DType::f32);
  return ops::add(ops::neg(same), 1);
}

}  // namespace

struct Recurrent::Cache final : LayerCache {
  void reorder(std::span<const std::int32_t> rows) override {
    for (Tensor& each : state) each = reordered(each, rows);
    if (segment.defined()) segment = reordered(segment, rows);
  }
  bool can_append_rows() const override { return true; }
  void align(std::int64_t positions) override { length = positions; }
  void append_rows(const LayerCache& other) override {
    const auto& more = static_cast<const Cache&>(other);
    if (segment.defined() != more.segment.defined()) {
      throw Error("[extend_step] expected rows with segments where the others have them");
    }
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = with_rows(state[i], more.state[i]);
    segment = with_rows(segment, more.segment);
  }
  State state;              // empty before the first position
  Tensor segment;           // i32 [B, 1] of the last position, if any
  std::int64_t length = 0;  // positions read so far
};

Recurrent::Recurrent(std::string_view type, const RecurrentConfig& config, std::size_t states,
                     const Scope& scope)
    : type_(type),
      path_(scope.path()),
      input_dims_(config.input_dims),
      output_dims_(config.output_dims),
      states_(states),
      reverse_(config.reverse),
      zoneout_(static_cast<float>(config.zoneout)) {}

Recurrent::State Recurrent::zoned_out(const State& before, const State& after,
                                      const FpropContext& context, std::int64_t position) const {
  const RngKey key = context.key_for(path_, "zoneout").fold(static_cast<std::uint64_t>(position));
  State mixed;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!context.train) {
      mixed.push_back(ops::add(ops::mul(before[i], zoneout_), ops::mul(after[i], 1 - zoneout_)));
      continue;
    }
    // An element that dropout of ones zeroes keeps its old value.
    Device& device = after[i].device();
    const Tensor ones = Tensor::full(device, after[i].shape(), 1);
    const Tensor changes =
        ops::less(Tensor::scalar(device, 0), ops::dropout(ones, zoneout_, key.fold(i)));
    mixed.push_back(ops::where(changes, after[i], before[i]));
  }
  return mixed;
}

Tensor Recurrent::scan(Tensor projected, State& state, const ScanOptions& positions) const {
  return step_through(
      projected, state, positions,
      [&](const Tensor& x, const State& before, std::int64_t) { return next(x, before); });
}

Tensor Recurrent::step_through(const Tensor& projected, State& state, const ScanOptions& positions,
                               const ScanStep& step) const {
  if (state.empty()) {
    state.assign(states_, Tensor::zeros(projected.device(), {projected.dim(0), output_dims_}));
  }
  return ops::scan(projected, state, positions, step);
}

Tensor Recurrent::run(const Tensor& x, const FpropContext& context, Cache& past) const {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(type_, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  const std::int64_t batch = x.dim(0), length = x.dim(1);
  if (length == 0) return Tensor::zeros(x.device(), {batch, 0, output_dims_});
  const Tensor ids = fitting(context.segment_ids, x);
  const ScanOptions positions{
      .reverse = reverse_,
      .starts = ids.defined() ? starts_of(ids, past.segment, reverse_) : Tensor(),
      .paddings = fitting(context.paddings, x)};
  Tensor y;
  if (zoneout_ > 0) {
    y = step_through(project(x), past.state, positions,
                     [&](const Tensor& projected, const State& before, std::int64_t t) {
                       return zoned_out(before, next(projected, before), context, past.length + t);
                     });
  } else {
    y = scan(project(x), past.state, positions);
  }
  past.length += length;
  if (ids.defined()) past.segment = ops::contiguous(ops::slice(ids, 1, length - 1, length));
  return y;
}

Tensor last_output(const Tensor& y, bool reverse) {
  const std::int64_t last = reverse ? 0 : y.dim(1) - 1;
  return ops::reshape(ops::slice(y, 1, last, last + 1), {y.dim(0), y.dim(2)});
}

Tensor Recurrent::fprop(const Tensor& x, FpropContext& context) {
  Cache none;
  return run(x, context, none);
}

std::unique_ptr<LayerCache> Recurrent::make_cache(std::int64_t, std::int64_t) const {
  if (!reverse_) return std::make_unique<Cache>();
  throw Error(
      "[" + std::string(type_) + "] '" + path_ + "': a reversed layer cannot decode with a cache",
      {.hint = "set reverse = false"});
}

Tensor Recurrent::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  return run(x, context, static_cast<Cache&>(cache));
}

}  // namespace trivet::nn
