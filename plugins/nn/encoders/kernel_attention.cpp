// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/kernel_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "nn/basic/packed_rows.h"
#include "nn/basic/sequence_context.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kKernel = "nn/KernelAttention";
constexpr float kStabilizer = 1e-6F;
constexpr float kHidden = -1e30F;  // an exponent of a position that does not count

// Makes the rows of `block` [dims, dims] orthonormal, by Gram and Schmidt, twice for precision.
void orthogonalize(std::span<double> block, std::size_t dims) {
  const auto row = [&](std::size_t i) { return block.subspan(i * dims, dims); };
  const auto product = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t d = 0; d < dims; ++d) sum += row(i)[d] * row(j)[d];
    return sum;
  };
  for (std::size_t i = 0; i < dims; ++i) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        const double share = product(i, j);
        for (std::size_t d = 0; d < dims; ++d) row(i)[d] -= share * row(j)[d];
      }
    }
    const double length = std::sqrt(product(i, i));
    for (double& value : row(i)) value /= length;
  }
}

// [B, T, H, D] -> [B, H, T, D].
Tensor by_head(const Tensor& x) {
  return ops::contiguous(ops::transpose(x, {0, 2, 1, 3}));
}

constexpr ops::ReduceOptions kKeep{.keep_dims = true};

// The mean over the positions that count, [B, H, 1, ..].
Tensor mean_of_positions(const Tensor& x, const Tensor& mask) {
  if (!mask.defined()) return ops::mean(x, 2, kKeep);
  const Tensor counted = ops::sum(mask, 2, kKeep);
  const Tensor ones = ops::add(Tensor::zeros(x.device(), counted.shape()), 1.0F);
  return ops::div(ops::sum(ops::mul(x, mask), 2, kKeep), ops::max(counted, ones));
}

// The |x|^2 of each position, [.., 1].
Tensor squared_length(const Tensor& x) {
  return ops::sum(ops::square(x), -1, kKeep);
}

}  // namespace

void KernelAttentionConfig::validate(Diagnostics& diagnostics) const {
  AttentionProductsConfig::validate(diagnostics);
  if (num_random_features > 0) return;
  if (redraw) diagnostics.add("redraw", "has no effect with num_random_features = 0");
  if (feature_transform == FeatureTransform::expplus) {
    diagnostics.add("feature_transform", "is expplus, which is of random products",
                    "set num_random_features, or use exp");
  }
}

KernelAttention::KernelAttention(const Config& config, Scope& scope)
    : path_(scope.path()),
      heads_(kKernel, config, scope),
      transform_(config.feature_transform),
      features_(config.num_random_features),
      redraw_(config.redraw),
      fixed_(random_products(
          features_, heads_.head_dims(),
          RngKey(static_cast<std::uint64_t>(config.seed)).fold(path_).fold("products"))) {}

std::vector<float> KernelAttention::random_products(std::int64_t features, std::int64_t dims,
                                                    RngKey key) {
  const auto depth = static_cast<std::size_t>(dims);
  const auto count = static_cast<std::size_t>(features);
  std::vector<float> products, drawn(depth * depth);
  std::vector<float> lengths(count * depth);
  random_normal(key.fold("lengths"), 0, 1, lengths);
  for (std::size_t first = 0; first < count; first += depth) {
    random_normal(key.fold("directions").fold(static_cast<std::uint64_t>(first)), 0, 1, drawn);
    std::vector<double> block(drawn.begin(), drawn.end());
    orthogonalize(block, depth);
    for (std::size_t i = first; i < std::min(count, first + depth); ++i) {
      double length = 0;
      for (std::size_t d = 0; d < depth; ++d) {
        length += std::pow(static_cast<double>(lengths[i * depth + d]), 2);
      }
      for (std::size_t d = 0; d < depth; ++d) {
        products.push_back(static_cast<float>(block[(i - first) * depth + d] * std::sqrt(length)));
      }
    }
  }
  return products;
}

// The exponents of exp and expplus, up to what cancels.
Tensor KernelAttention::exponents(const Side& side, const Tensor& w) const {
  const Tensor u = w.defined() ? ops::matmul(side.x, w, {.transpose_b = true}) : side.x;
  const Tensor half = ops::mul(squared_length(side.x), -0.5F);
  if (transform_ == FeatureTransform::exp) return ops::add(u, half);
  // Theorem 3.3: phi is the mean of |q + k|^2, rho the ratio that makes the variance least.
  const auto dims = static_cast<float>(heads_.head_dims());
  const Tensor x = ops::stop_gradient(side.x), other = ops::stop_gradient(side.other);
  const Tensor product = ops::sum(
      ops::mul(mean_of_positions(x, side.mask), mean_of_positions(other, side.mask)), -1, kKeep);
  const Tensor phi = ops::add(ops::add(mean_of_positions(squared_length(x), side.mask),
                                       mean_of_positions(squared_length(other), side.mask)),
                              ops::mul(product, 2));
  const Tensor sum = ops::add(ops::mul(phi, 2), dims);
  const Tensor root = ops::sqrt(ops::add(ops::square(sum), ops::mul(phi, 8 * dims)));
  // 1 / rho = 4 phi / (root - sum), written without the difference, which is 0 for phi = 0.
  const Tensor inverse = ops::mul(ops::add(root, sum), 1 / (2 * dims));
  const Tensor a = ops::mul(ops::add(ops::neg(inverse), 1.0F), 0.125F);
  const Tensor b = ops::sqrt(ops::add(ops::mul(a, -4), 1.0F));
  const Tensor lengths = ops::reshape(ops::sum(ops::square(w), -1), {1, 1, 1, features_});
  return ops::add(ops::add(ops::mul(u, b), half), ops::mul(lengths, a));
}

Tensor KernelAttention::features(const Side& side, const Tensor& w) const {
  if (transform_ == FeatureTransform::exp || transform_ == FeatureTransform::expplus) {
    Tensor e = exponents(side, w);
    if (side.is_query) return ops::exp(ops::sub(e, ops::stop_gradient(ops::max(e, -1, kKeep))));
    if (side.mask.defined()) {
      e = ops::add(e, ops::mul(ops::add(side.mask, -1.0F), -kHidden));
    }
    const Tensor largest = ops::max(ops::max(e, -1, kKeep), 2, kKeep);
    const Tensor k = ops::exp(ops::sub(e, ops::stop_gradient(largest)));
    return side.mask.defined() ? ops::mul(k, side.mask) : k;
  }
  Tensor u = w.defined() ? ops::matmul(side.x, w, {.transpose_b = true}) : side.x;
  switch (transform_) {
    case FeatureTransform::relu:
      u = ops::add(ops::activation(u, Activation::relu), 1e-3F);
      break;
    case FeatureTransform::elu: {
      // max(u, 0) + exp(min(u, 0)).
      const Tensor negative = ops::neg(ops::activation(ops::neg(u), Activation::relu));
      u = ops::add(ops::activation(u, Activation::relu), ops::exp(negative));
      break;
    }
    default:
      u = ops::square(u);
  }
  return !side.is_query && side.mask.defined() ? ops::mul(u, side.mask) : u;
}

Tensor KernelAttention::fprop(const Tensor& x, FpropContext& context) {
  heads_.check(x);
  refuse_packed(kKernel, path_, context);
  const float scale = 1 / std::sqrt(std::sqrt(static_cast<float>(heads_.head_dims())));
  const Tensor q = ops::mul(by_head(heads_.queries(x, context)), scale);
  const Tensor k = ops::mul(by_head(heads_.keys(x, context)), scale);
  const Tensor v = by_head(heads_.values(x, context));
  Tensor mask;
  if (const Tensor paddings = fitting(context.paddings, x); paddings.defined()) {
    mask = ops::reshape(ops::add(ops::neg(paddings), 1.0F), {x.dim(0), 1, x.dim(1), 1});
  }
  Tensor w;
  if (features_ > 0) {
    const bool other = redraw_ && context.train;
    const std::vector<float> drawn =
        other ? random_products(features_, heads_.head_dims(), context.key_for(path_, "products"))
              : fixed_;
    w = Tensor::from<float>(x.device(), drawn, {features_, heads_.head_dims()});
  }
  const Tensor asking = features({q, k, mask, true}, w), asked = features({k, q, mask, false}, w);
  const Tensor mixed = ops::matmul(asking, ops::matmul(asked, v, {.transpose_a = true}));
  const Tensor sums = ops::reshape(ops::sum(asked, 2), {x.dim(0), heads_.heads(), asked.dim(3), 1});
  const Tensor total = ops::add(ops::matmul(asking, sums), kStabilizer);
  const Tensor y = ops::transpose(ops::div(mixed, total), {0, 2, 1, 3});
  return heads_.output(ops::contiguous(y), context);
}

}  // namespace trivet::nn
