// SPDX-License-Identifier: Apache-2.0
#include "nn/quantization/fake_quantization.h"

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// From 1 to `least`, at equal distances.
std::vector<float> clipping_candidates(std::int64_t count, double least) {
  std::vector<float> candidates;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0;
    candidates.push_back(static_cast<float>(1 + share * (least - 1)));
  }
  return candidates;
}

}  // namespace

void FakeQuantizationConfig::validate(Diagnostics& diagnostics) const {
  QuantizationConfig::validate(diagnostics);
  const bool searches = num_optimize_clipping > 0;
  if (searches && clipping_coeff != 1) {
    diagnostics.add("clipping_coeff", "is chosen by num_optimize_clipping", "remove one of them");
  }
  if (!searches && optimize_clipping_per_channel) {
    diagnostics.add("optimize_clipping_per_channel", "has no effect without num_optimize_clipping",
                    "set num_optimize_clipping, or remove it");
  }
  if (!searches && min_clipping != FakeQuantizationConfig{}.min_clipping) {
    diagnostics.add("min_clipping", "has no effect without num_optimize_clipping",
                    "set num_optimize_clipping, or remove it");
  }
  if (vn_scale > 0 && (!use_symmetric || unsigned_int_bounds)) {
    diagnostics.add("vn_scale", "needs symmetric integers with sign",
                    "remove use_symmetric and unsigned_int_bounds");
  }
  if (vn_scale == 0 && (vn_start_step > 0 || vn_noise_type != VariationalNoise::uniform)) {
    diagnostics.add(vn_start_step > 0 ? "vn_start_step" : "vn_noise_type",
                    "has no effect without vn_scale", "set vn_scale, or remove it");
  }
}

FakeQuantization::FakeQuantization(const Config& config, Scope& scope)
    : path_(scope.path()),
      quantizer_(config),
      block_size_(config.block_size),
      candidates_(clipping_candidates(config.num_optimize_clipping, config.min_clipping)),
      per_channel_(config.optimize_clipping_per_channel),
      noise_(config) {}

// [blocks, weights of a block, out].
Tensor FakeQuantization::blocks(const Tensor& w) const {
  const std::int64_t out = w.rank() > 0 ? w.dim(-1) : 1;
  const std::int64_t rows = w.size() / out;
  const std::int64_t block = block_size_ > 0 ? block_size_ : rows;
  if (rows % block != 0) {
    throw Error("[nn/FakeQuantization] '" + path_ + "': block_size = " + std::to_string(block) +
                    " does not divide the " + std::to_string(rows) + " weights of a column of " +
                    w.shape().to_string(),
                {.hint = "use a divisor of " + std::to_string(rows)});
  }
  return ops::reshape(w, {rows / block, block, out});
}

// [1, 1, 1] or [blocks, 1, out]; undefined if none is searched.
Tensor FakeQuantization::best_clipping(const Tensor& w) const {
  const NoGrad no_grad;
  Tensor best, least;
  for (const float candidate : candidates_) {
    const Tensor clipping = Tensor::full(w.device(), {1, 1, 1}, candidate);
    const Tensor errors = ops::abs(ops::sub(w, quantizer_.nearest(w, clipping)));
    const Tensor error = per_channel_ ? ops::sum(errors, 1, {.keep_dims = true})
                                      : ops::reshape(ops::sum(errors), {1, 1, 1});
    if (!best.defined()) {
      best = Tensor::full(w.device(), error.shape(), candidate);
      least = error;
      continue;
    }
    const Tensor better = ops::less(error, least);
    best = ops::where(better, ops::expand(clipping, error.shape()), best);
    least = ops::where(better, error, least);
  }
  return best;
}

Tensor FakeQuantization::noisy(const Tensor& w, const FpropContext& context) const {
  if (context.step < noise_.vn_start_step) return w;
  std::vector<float> numbers(static_cast<std::size_t>(w.size()));
  const RngKey key = context.key_for(path_, "variational_noise");
  if (noise_.vn_noise_type == VariationalNoise::uniform) {
    random_uniform(key, -0.5, 0.5, numbers);
  } else {
    random_normal(key, 0, 1, numbers);
  }
  const Tensor noise = Tensor::from<float>(w.device(), numbers, w.shape());
  const Tensor most = ops::max(ops::abs(w), 1, {.keep_dims = true});
  const Tensor scale = ops::mul(noise_.stop_scale_gradient ? ops::stop_gradient(most) : most,
                                static_cast<float>(noise_.vn_scale));
  return ops::add(w, ops::mul(scale, noise));
}

Tensor FakeQuantization::fprop(const Tensor& w, FpropContext& context) {
  if (w.size() == 0) return w;
  const Tensor columns = blocks(w);
  return ops::reshape(adds_noise(context) ? noisy(columns, context)
                                          : quantizer_.nearest(columns, best_clipping(columns)),
                      w.shape());
}

std::optional<Quantized> FakeQuantization::factored(const Tensor& w, FpropContext& context) {
  if (!quantizer_.symmetric() || adds_noise(context) || w.rank() == 0 || w.size() == 0) {
    return std::nullopt;
  }
  const Tensor columns = blocks(w);
  if (columns.dim(0) > 1) return std::nullopt;
  const Quantized found = quantizer_.quantize(columns, best_clipping(columns));
  return Quantized{.integers = ops::reshape(found.integers, w.shape()),
                   .scale = ops::reshape(found.scale, {w.dim(-1)}),
                   .offset = {}};
}

const void* FakeQuantization::extension(std::string_view id) const noexcept {
  return id == kQuantizingLayer ? static_cast<const QuantizingLayer*>(this) : nullptr;
}

}  // namespace trivet::nn
