// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/ssm.h"

#include <cmath>
#include <functional>
#include <optional>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "nn/recurrent/state_chunks.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

using Complex = std::complex<double>;

constexpr const char* kSsm = "nn/Ssm";

// The filters of all channels as matrices: kernel [n, D] -> [D, n, n], element (i, j) is
// kernel[j - i], or 0 where that is negative.
Tensor toeplitz(const Tensor& kernel) {
  const std::int64_t n = kernel.dim(0), dims = kernel.dim(1);
  std::vector<std::int32_t> indices;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      indices.push_back(static_cast<std::int32_t>(j >= i ? j - i : n));
    }
  }
  const Tensor zero = Tensor::zeros(kernel.device(), {1, dims});
  const Tensor table = ops::concat(std::vector<Tensor>{kernel, zero}, 0);
  const Tensor at = Tensor::from<std::int32_t>(kernel.device(), indices, {n * n});
  const Tensor rows = ops::reshape(ops::gather_rows(table, at), {n, n, dims});
  return ops::contiguous(ops::transpose(rows, {2, 0, 1}));
}

}  // namespace

struct Ssm::Cache final : LayerCache {
  void reorder(std::span<const std::int32_t> rows) override {
    if (state.defined()) state = reordered_rows(state, rows);
    reorder_segments(segments, rows);
  }
  Tensor state;  // [D, B, 2 N], real parts before imaginary ones; undefined: 0
  std::vector<std::int32_t> segments;  // of each row's last position, if any
};

// What n positions do: y = x within + h from_state, h' = x to_state + abar^n h.
struct Ssm::Chunk {
  Tensor within;      // [D, n, n]
  Tensor from_state;  // [D, 2 N, n]
  Tensor to_state;    // [n, 2 N]
  Tensor own, other;  // abar^n as factors of h = [re, im] and of [im, re], [2 N]

  Tensor next(const Tensor& x, const Tensor& h) const {
    const Tensor added = ops::matmul(x, to_state);
    if (!h.defined()) return added;
    const std::vector<Tensor> parts = ops::split(h, 2, 2);
    const Tensor swapped = ops::concat(std::vector<Tensor>{parts[1], parts[0]}, 2);
    return ops::add(added, ops::add(ops::mul(h, own), ops::mul(swapped, other)));
  }
  Tensor output(const Tensor& x, const Tensor& h) const {
    const Tensor y = ops::matmul(x, within);
    return h.defined() ? ops::add(y, ops::matmul(h, from_state)) : y;
  }
};

void SsmConfig::validate(Diagnostics& diagnostics) const {
  if (!causal) {
    diagnostics.add("causal", "is false, but a state space model sees earlier positions alone",
                    "remove it");
  }
}

Ssm::Ssm(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set(kSsm, path_, "input_dims", config.input_dims)),
      state_dims_(config.state_dims),
      c_re_(scope.parameter("c_re", {state_dims_, input_dims_},
                            {.init = {Init::normal, std::sqrt(0.5)}})),
      c_im_(scope.parameter("c_im", {state_dims_, input_dims_},
                            {.init = {Init::normal, std::sqrt(0.5)}})),
      d_(scope.parameter("d", {input_dims_}, {.init = {Init::constant, 1}})) {
  for (const Complex& a : hippo_eigenvalues(config.hippo_type, state_dims_)) {
    abar_.push_back(std::exp(config.step_size * a));
    bbar_.push_back((abar_.back() - 1.0) / a);
  }
}

Ssm::Chunk Ssm::chunk_of(std::int64_t length) const {
  Device& device = d_.value().device();
  const std::int64_t states = state_dims_;
  // powers[l][n] = abar_n^l
  std::vector<std::vector<Complex>> powers{std::vector<Complex>(abar_.size(), 1.0)};
  for (std::int64_t l = 0; l < length; ++l) {
    std::vector<Complex> next = powers.back();
    for (std::size_t n = 0; n < next.size(); ++n) next[n] *= abar_[n];
    powers.push_back(std::move(next));
  }
  const auto power = [&](std::int64_t l, std::int64_t n) {
    return powers[static_cast<std::size_t>(l)][static_cast<std::size_t>(n)];
  };
  const auto filter = [&](std::int64_t l, std::int64_t n) {
    return power(l, n) * bbar_[static_cast<std::size_t>(n)];
  };
  Chunk chunk;
  const Tensor taps = constants(device, length, 2 * states, [&](std::int64_t l, std::int64_t k) {
    return k < states ? filter(l, k).real() : -filter(l, k - states).imag();
  });
  const Tensor c = ops::concat(std::vector<Tensor>{c_re_.value(), c_im_.value()}, 0);
  chunk.within = toeplitz(ops::matmul(taps, c));
  chunk.to_state = constants(device, length, 2 * states, [&](std::int64_t i, std::int64_t k) {
    const Complex z = filter(length - 1 - i, k % states);
    return k < states ? z.real() : z.imag();
  });
  const auto of_state = [&](const std::function<double(Complex)>& part) {
    return constants(device, states, length,
                     [&](std::int64_t n, std::int64_t s) { return part(power(s + 1, n)); });
  };
  const Tensor re = of_state([](Complex z) { return z.real(); });
  const Tensor im = of_state([](Complex z) { return z.imag(); });
  const auto by_channel = [&](const Parameter& parameter) {
    return ops::reshape(ops::contiguous(ops::transpose(parameter.value(), {1, 0})),
                        {input_dims_, states, 1});
  };
  const Tensor c_re = by_channel(c_re_), c_im = by_channel(c_im_);
  chunk.from_state =
      ops::concat(std::vector<Tensor>{ops::sub(ops::mul(c_re, re), ops::mul(c_im, im)),
                                      ops::neg(ops::add(ops::mul(c_re, im), ops::mul(c_im, re)))},
                  1);
  const auto row = [&](const std::function<double(std::int64_t)>& value) {
    const Tensor both =
        constants(device, 1, 2 * states, [&](std::int64_t, std::int64_t k) { return value(k); });
    return ops::reshape(both, {2 * states});
  };
  chunk.own = row([&](std::int64_t k) { return power(length, k % states).real(); });
  chunk.other = row([&](std::int64_t k) {
    const double imaginary = power(length, k % states).imag();
    return k < states ? -imaginary : imaginary;
  });
  return chunk;
}

Tensor Ssm::run(const Tensor& x, const FpropContext& context, Cache& past) const {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(kSsm, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  if (x.size() == 0) return x;
  const Tensor u = without_padding(x, context);
  const Starts starts(fitting(context.segment_ids, x), past.segments);
  const std::int64_t chunk = starts.any ? 1 : kChunk;
  std::vector<Tensor> parts, outputs;
  cut(ops::transpose(u, {2, 0, 1}), chunk, parts);
  std::optional<Chunk> steps;
  Tensor& state = past.state;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!steps || steps->within.dim(1) != parts[i].dim(2)) steps = chunk_of(parts[i].dim(2));
    if (starts.any && state.defined()) {
      state = ops::mul(state, starts.at(x.device(), i, x.dim(0)));
    }
    outputs.push_back(steps->output(parts[i], state));
    state = steps->next(parts[i], state);
  }
  const Tensor y = ops::contiguous(ops::transpose(joined_chunks(outputs), {1, 2, 0}));
  return ops::add(y, ops::mul(u, d_.value()));
}

Tensor Ssm::fprop(const Tensor& x, FpropContext& context) {
  Cache none;
  return run(x, context, none);
}

std::unique_ptr<LayerCache> Ssm::make_cache(std::int64_t, std::int64_t) const {
  return std::make_unique<Cache>();
}

Tensor Ssm::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  return run(x, context, static_cast<Cache&>(cache));
}

}  // namespace trivet::nn
