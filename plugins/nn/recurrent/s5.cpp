// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/s5.h"

#include <cmath>
#include <functional>
#include <optional>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "nn/recurrent/state_chunks.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kS5 = "nn/S5";

// [N, rows, columns] of `value(n, row, column)`.
Tensor for_states(Device& device, std::int64_t states, std::int64_t rows, std::int64_t columns,
                  const std::function<double(std::size_t, std::int64_t, std::int64_t)>& value) {
  const Tensor flat =
      constants(device, states, rows * columns, [&](std::int64_t n, std::int64_t i) {
        return value(static_cast<std::size_t>(n), i / columns, i % columns);
      });
  return ops::reshape(flat, {states, rows, columns});
}

Tensor last_column(const Tensor& x) {
  return ops::contiguous(ops::slice(x, 2, x.dim(2) - 1, x.dim(2)));
}

}  // namespace

struct S5::Complex {
  Tensor re, im;

  // The product with constants, where `times` is how a real part is multiplied.
  Complex product(const Complex& by,
                  const std::function<Tensor(const Tensor&, const Tensor&)>& times) const {
    return {ops::sub(times(re, by.re), times(im, by.im)),
            ops::add(times(re, by.im), times(im, by.re))};
  }
};

struct S5::Cache final : LayerCache {
  void reorder(std::span<const std::int32_t> rows) override {
    for (Tensor* part : {&state.re, &state.im}) {
      if (part->defined()) *part = reordered_rows(*part, rows);
    }
    reorder_segments(segments, rows);
  }
  Complex state;                       // [N, B, 1] each; undefined: 0
  std::vector<std::int32_t> segments;  // of each row's last position, if any
};

// The step over n positions: all states of a chunk are v within + h carried.
struct S5::Chunk {
  Complex within;   // [N, n, n]: abar^(j - i), or 0 where that is negative
  Complex carried;  // [N, 1, n]: abar^(s + 1)

  Complex states(const Complex& v, const Complex& h) const {
    const auto matmul = [](const Tensor& a, const Tensor& b) { return ops::matmul(a, b); };
    const auto mul = [](const Tensor& a, const Tensor& b) { return ops::mul(a, b); };
    const Complex own = v.product(within, matmul);
    if (!h.re.defined()) return own;
    const Complex before = h.product(carried, mul);
    return {ops::add(own.re, before.re), ops::add(own.im, before.im)};
  }
};

S5::S5(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set(kS5, path_, "input_dims", config.input_dims)),
      state_dims_(config.state_dims),
      b_re_(scope.parameter(
          "b_re", {state_dims_, input_dims_},
          {.init = {Init::normal, 1 / std::sqrt(static_cast<double>(input_dims_))}})),
      b_im_(scope.parameter(
          "b_im", {state_dims_, input_dims_},
          {.init = {Init::normal, 1 / std::sqrt(static_cast<double>(input_dims_))}})),
      c_re_(scope.parameter(
          "c_re", {state_dims_, input_dims_},
          {.init = {Init::normal, 1 / std::sqrt(static_cast<double>(state_dims_))}})),
      c_im_(scope.parameter(
          "c_im", {state_dims_, input_dims_},
          {.init = {Init::normal, 1 / std::sqrt(static_cast<double>(state_dims_))}})),
      d_(scope.parameter("d", {input_dims_}, {.init = {Init::constant, 1}})) {
  for (const std::complex<double>& a : hippo_eigenvalues(config.hippo_type, state_dims_)) {
    abar_.push_back(std::exp(config.step_size * a));
    bbar_.push_back((abar_.back() - 1.0) / a);
  }
}

S5::Complex S5::inputs(const Tensor& x) const {
  const auto factors = [&](const std::function<double(std::complex<double>)>& part) {
    const Tensor row = constants(x.device(), 1, state_dims_, [&](std::int64_t, std::int64_t n) {
      return part(bbar_[static_cast<std::size_t>(n)]);
    });
    return ops::reshape(row, {state_dims_});
  };
  const Complex bbar{factors([](std::complex<double> z) { return z.real(); }),
                     factors([](std::complex<double> z) { return z.imag(); })};
  const Complex product{ops::matmul(x, b_re_.value(), {.transpose_b = true}),
                        ops::matmul(x, b_im_.value(), {.transpose_b = true})};
  return product.product(bbar, [](const Tensor& a, const Tensor& b) { return ops::mul(a, b); });
}

S5::Chunk S5::chunk_of(std::int64_t length) const {
  Device& device = d_.value().device();
  std::vector<std::vector<std::complex<double>>> powers{{}};
  powers.front().assign(abar_.size(), 1.0);
  for (std::int64_t l = 0; l < length; ++l) {
    std::vector<std::complex<double>> next = powers.back();
    for (std::size_t n = 0; n < next.size(); ++n) next[n] *= abar_[n];
    powers.push_back(std::move(next));
  }
  const auto power = [&](std::int64_t l, std::size_t n) {
    return l < 0 ? std::complex<double>(0) : powers[static_cast<std::size_t>(l)][n];
  };
  Chunk chunk;
  const auto both = [&](std::int64_t rows, const std::function<std::complex<double>(
                                               std::size_t, std::int64_t, std::int64_t)>& value) {
    return Complex{for_states(device, state_dims_, rows, length,
                              [&](std::size_t n, std::int64_t i, std::int64_t j) {
                                return value(n, i, j).real();
                              }),
                   for_states(device, state_dims_, rows, length,
                              [&](std::size_t n, std::int64_t i, std::int64_t j) {
                                return value(n, i, j).imag();
                              })};
  };
  chunk.within =
      both(length, [&](std::size_t n, std::int64_t i, std::int64_t j) { return power(j - i, n); });
  chunk.carried =
      both(1, [&](std::size_t n, std::int64_t, std::int64_t j) { return power(j + 1, n); });
  return chunk;
}

Tensor S5::run(const Tensor& x, const FpropContext& context, Cache& past) const {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(kS5, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  if (x.size() == 0) return x;
  const Tensor u = without_padding(x, context);
  const Starts starts(fitting(context.segment_ids, x), past.segments);
  const std::int64_t chunk = starts.any ? 1 : kChunk;
  const Complex v = inputs(u);
  std::vector<Tensor> re, im;
  cut(ops::transpose(v.re, {2, 0, 1}), chunk, re);
  cut(ops::transpose(v.im, {2, 0, 1}), chunk, im);
  std::optional<Chunk> steps;
  Complex& state = past.state;
  for (std::size_t i = 0; i < re.size(); ++i) {
    if (!steps || steps->within.re.dim(1) != re[i].dim(2)) steps = chunk_of(re[i].dim(2));
    if (starts.any && state.re.defined()) {
      const Tensor continues = starts.at(x.device(), i, x.dim(0));
      state = {ops::mul(state.re, continues), ops::mul(state.im, continues)};
    }
    const Complex all = steps->states({re[i], im[i]}, state);
    re[i] = all.re;
    im[i] = all.im;
    state = {last_column(all.re), last_column(all.im)};
  }
  const auto by_position = [](std::span<const Tensor> parts) {
    return ops::contiguous(ops::transpose(joined_chunks(parts), {1, 2, 0}));
  };
  const Tensor y = ops::sub(ops::matmul(by_position(re), c_re_.value()),
                            ops::matmul(by_position(im), c_im_.value()));
  return ops::add(y, ops::mul(u, d_.value()));
}

Tensor S5::fprop(const Tensor& x, FpropContext& context) {
  Cache none;
  return run(x, context, none);
}

std::unique_ptr<LayerCache> S5::make_cache(std::int64_t, std::int64_t) const {
  return std::make_unique<Cache>();
}

Tensor S5::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  return run(x, context, static_cast<Cache&>(cache));
}

}  // namespace trivet::nn
