// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/positional_embedding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"

namespace trivet::nn {
namespace {

// The number of earlier positions.
struct PositionCount final : LayerCache {
  void reorder(std::span<const std::int32_t>) override {}
  bool can_append_rows() const override { return true; }
  void align(std::int64_t length) override { positions = length; }
  void append_rows(const LayerCache&) override {}
  bool can_remove_last() const override { return true; }
  void remove_last(std::int64_t n) override { positions -= n; }
  std::int64_t positions = 0;
};

}  // namespace

Tensor AddedPositions::added(const Tensor& x, const FpropContext& context,
                             std::int64_t first) const {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(type_, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  if (!fitting(context.positions, x).defined()) check_length(first + x.dim(1));
  return ops::add(x, at(positions_of(x, context, first)));
}

Tensor AddedPositions::fprop(const Tensor& x, FpropContext& context) {
  return added(x, context, 0);
}

std::unique_ptr<LayerCache> AddedPositions::make_cache(std::int64_t, std::int64_t) const {
  return std::make_unique<PositionCount>();
}

Tensor AddedPositions::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  auto& past = static_cast<PositionCount&>(cache);
  const Tensor y = added(x, context, past.positions);
  past.positions += x.dim(1);
  return y;
}

void PositionalEmbeddingConfig::validate(Diagnostics& diagnostics) const {
  if (max_timescale < min_timescale) {
    diagnostics.add("max_timescale", "is less than min_timescale");
  }
}

PositionalEmbedding::PositionalEmbedding(const Config& config, Scope& scope)
    : AddedPositions(
          "nn/PositionalEmbedding", scope,
          expect_set("nn/PositionalEmbedding", scope.path(), "input_dims", config.input_dims)),
      min_timescale_(config.min_timescale),
      max_timescale_(config.max_timescale) {}

Tensor PositionalEmbedding::at(const Tensor& positions) const {
  return sinusoids(positions, input_dims(), min_timescale_, max_timescale_);
}

Tensor sinusoids(const Tensor& positions, std::int64_t dims, double min_timescale,
                 double max_timescale) {
  Device& device = positions.device();
  const std::int64_t n = dims / 2, batch = positions.dim(0), length = positions.dim(1);
  const double step = std::log(max_timescale / min_timescale) /
                      static_cast<double>(std::max<std::int64_t>(n - 1, 1));
  std::vector<float> speeds;
  for (std::int64_t i = 0; i < n; ++i) {
    speeds.push_back(static_cast<float>(min_timescale * std::exp(-static_cast<double>(i) * step)));
  }
  std::vector<Tensor> parts;
  if (n > 0) {
    const Tensor where = ops::reshape(ops::cast(positions, DType::f32), {batch, length, 1});
    const Tensor angle = ops::mul(where, Tensor::from<float>(device, speeds, {n}));
    parts = {ops::sin(angle), ops::cos(angle)};
  }
  if (dims % 2 != 0) parts.push_back(Tensor::zeros(device, {batch, length, 1}));
  return ops::concat(parts, 2);
}

TrainablePositionalEmbedding::TrainablePositionalEmbedding(const Config& config, Scope& scope)
    : AddedPositions("nn/TrainablePositionalEmbedding", scope,
                     expect_set("nn/TrainablePositionalEmbedding", scope.path(), "input_dims",
                                config.input_dims)),
      table_(scope.parameter(
          "table", {config.max_seq_length, config.input_dims},
          {.init = config.init,
           .fallback = {Init::normal, 1 / std::sqrt(static_cast<double>(config.input_dims))}})) {}

Tensor TrainablePositionalEmbedding::at(const Tensor& positions) const {
  return ops::gather_rows(table_.value(), positions);
}

void TrainablePositionalEmbedding::check_length(std::int64_t length) const {
  if (length <= table_.shape()[0]) return;
  throw Error("[nn/TrainablePositionalEmbedding] '" + path() + "': " + std::to_string(length) +
                  " positions, but max_seq_length is " + std::to_string(table_.shape()[0]),
              {.hint = "make max_seq_length larger or the sequences shorter"});
}

}  // namespace trivet::nn
