// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/kernel_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "nn/basic/packed_rows.h"
#include "nn/basic/sequence_context.h"
#include "nn/basic/templates.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kKernel = "nn/KernelAttention";
constexpr float kStabilizer = 1e-6F;
constexpr float kUsualLength = 512;  // at which scale_by_length changes nothing
constexpr float kHidden = -1e30F;    // an exponent of a position that does not count

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

bool is_exponential(FeatureTransform transform) {
  return transform == FeatureTransform::exp || transform == FeatureTransform::expplus ||
         transform == FeatureTransform::expmod;
}

// Row i of axis 2 becomes row i + `count`; the first ones are 0.
Tensor later(const Tensor& x, std::int64_t count) {
  return ops::pad(ops::slice(x, 2, 0, x.dim(2) - count), 2, count, 0);
}

// The sum of decay^n x_(i - n) over the `count` rows up to i of axis 2. Windows of powers of two
// are put together, so that time and memory grow with the logarithm of `count`.
Tensor window_sum(const Tensor& x, std::int64_t count, double decay) {
  const auto weighted = [&](const Tensor& of, std::int64_t rows) {
    return ops::mul(later(of, rows),
                    static_cast<float>(std::pow(decay, static_cast<double>(rows))));
  };
  Tensor sum, power = x;  // of `done` rows, of `length` rows
  std::int64_t done = 0, length = 1;
  for (std::int64_t left = std::min(count, x.dim(2));; left /= 2) {
    if (left % 2 == 1) {
      sum = sum.defined() ? ops::add(sum, weighted(power, done)) : power;
      done += length;
    }
    if (left < 2) return sum;
    power = ops::add(power, weighted(power, length));
    length *= 2;
  }
}

// The |x|^2 of each position, [.., 1].
Tensor squared_length(const Tensor& x) {
  return ops::sum(ops::square(x), -1, kKeep);
}

}  // namespace

void KernelAttentionConfig::validate(Diagnostics& diagnostics) const {
  AttentionProductsConfig::validate(diagnostics);
  const bool is_plus = feature_transform == FeatureTransform::expplus;
  if (is_plus && (is_short_seq || use_causal_windowed)) {
    diagnostics.add("feature_transform", "is expplus, which is of all positions of a row",
                    "use exp with is_short_seq and use_causal_windowed");
  }
  if (use_causal_windowed) {
    if (is_short_seq) diagnostics.add("is_short_seq", "does not go with use_causal_windowed");
    if (begin_kernel > 0) {
      diagnostics.add("begin_kernel", "does not go with use_causal_windowed",
                      "a softmax of the first positions would see later ones");
    }
    if (feature_transform == FeatureTransform::expmod) {
      diagnostics.add("feature_transform",
                      "is expmod, which overflows without the largest exponent",
                      "use exp with use_causal_windowed");
    }
  } else {
    const auto needs = [&](const char* field, bool is_set) {
      if (is_set) diagnostics.add(field, "has no effect without use_causal_windowed = true");
    };
    needs("causal_chunk_length", causal_chunk_length.has_value());
    needs("causal_window_length", causal_window_length.has_value());
    needs("causal_window_decay", causal_window_decay.has_value());
    needs("causal_padding", causal_padding.has_value());
  }
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
          RngKey(static_cast<std::uint64_t>(config.seed)).fold(path_).fold("products"))),
      scale_(static_cast<float>(
          config.scale.value_or(1 / std::sqrt(static_cast<double>(heads_.head_dims()))))),
      scale_by_length_(config.scale_by_length),
      is_short_seq_(config.is_short_seq),
      begin_kernel_(config.begin_kernel) {
  if (config.use_causal_windowed) {
    windows_ = {.chunk = config.causal_chunk_length.value_or(1),
                .count = config.causal_window_length.value_or(3),
                .decay = config.causal_window_decay.value_or(1),
                .padding = config.causal_padding.value_or(CausalPadding::none)};
  }
  if (begin_kernel_ > 0) {
    softmax_output_ =
        scope.layer("softmax_output", linear(config.input_dims, config.input_dims, config.has_bias,
                                             init_or(config.output_init, config.init), {}));
  }
}

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
  if (transform_ == FeatureTransform::expmod) return u;
  if (transform_ == FeatureTransform::exp) return ops::add(u, half);
  // Theorem 3.3: phi is the mean of |q + k|^2, rho the ratio that makes the variance least.
  const auto dims = static_cast<float>(heads_.head_dims());
  const Tensor x = ops::stop_gradient(side.x), other = ops::stop_gradient(side.other);
  const Tensor product =
      ops::sum(ops::mul(mean_of_positions(x, side.mask), mean_of_positions(other, side.other_mask)),
               -1, kKeep);
  const Tensor phi = ops::add(ops::add(mean_of_positions(squared_length(x), side.mask),
                                       mean_of_positions(squared_length(other), side.other_mask)),
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
  if (is_exponential(transform_)) {
    Tensor e = exponents(side, w);
    if (side.is_query) return ops::exp(ops::sub(e, ops::stop_gradient(ops::max(e, -1, kKeep))));
    if (windows_.chunk > 0) {
      // The largest exponent of all keys would be known to earlier queries. That of exp is at most
      // |w|^2 / 2, so it does not overflow.
      const Tensor k = ops::exp(e);
      return side.mask.defined() ? ops::mul(k, side.mask) : k;
    }
    if (side.mask.defined()) {
      e = ops::add(e, ops::mul(ops::add(side.mask, -1.0F), -kHidden));
    }
    const Tensor largest = ops::max(ops::max(e, -1, kKeep), 2, kKeep);
    const Tensor k = ops::exp(ops::sub(e, ops::stop_gradient(largest)));
    return side.mask.defined() ? ops::mul(k, side.mask) : k;
  }
  const Tensor u =
      transformed(w.defined() ? ops::matmul(side.x, w, {.transpose_b = true}) : side.x);
  return !side.is_query && side.mask.defined() ? ops::mul(u, side.mask) : u;
}

Tensor KernelAttention::transformed(const Tensor& u) const {
  switch (transform_) {
    case FeatureTransform::relu:
      return ops::add(ops::activation(u, Activation::relu), 1e-3F);
    case FeatureTransform::elu: {
      // max(u, 0) + exp(min(u, 0)).
      const Tensor negative = ops::neg(ops::activation(ops::neg(u), Activation::relu));
      return ops::add(ops::activation(u, Activation::relu), ops::exp(negative));
    }
    case FeatureTransform::square:
      return ops::square(u);
    default:
      return u;
  }
}

// In a softmax nothing cancels: these are the values of the formulas.
Tensor KernelAttention::short_features(const Side& side, const Tensor& w) const {
  Tensor u = w.defined() ? ops::matmul(side.x, w, {.transpose_b = true}) : side.x;
  if (is_exponential(transform_)) {
    Tensor counted = u;
    if (side.mask.defined()) {
      counted = ops::add(u, ops::mul(ops::add(side.mask, -1.0F), -kHidden));
    }
    const Tensor largest = ops::max(ops::max(ops::max(counted, -1, kKeep), 2, kKeep), 1, kKeep);
    // A position that does not count may have a larger one.
    u = ops::exp(ops::min(ops::sub(u, largest), Tensor::zeros(u.device(), {1})));
    const auto root = std::sqrt(static_cast<float>(heads_.head_dims()));
    u = transform_ == FeatureTransform::exp
            ? ops::mul(u, ops::exp(ops::mul(squared_length(side.x), -0.5F)))
            : ops::mul(u, std::exp(-0.5F * root));
  } else {
    u = transformed(u);
  }
  return w.defined() ? ops::mul(u, 1 / std::sqrt(static_cast<float>(features_))) : u;
}

Tensor KernelAttention::scale_of(const Tensor& x, const Tensor& mask) const {
  if (!scale_by_length_) return Tensor::full(x.device(), {1}, scale_);
  const float factor = scale_ / std::log(kUsualLength);
  if (!mask.defined()) {
    return Tensor::full(x.device(), {1}, factor * std::log(static_cast<float>(x.dim(1))));
  }
  const Tensor one = Tensor::full(x.device(), {1}, 1);
  return ops::mul(ops::log(ops::max(ops::sum(mask, 2, kKeep), one)), factor);
}

Tensor KernelAttention::products_of(const Tensor& x, FpropContext& context) const {
  if (features_ == 0) return {};
  const bool other = redraw_ && context.train;
  const std::vector<float> drawn =
      other ? random_products(features_, heads_.head_dims(), context.key_for(path_, "products"))
            : fixed_;
  return Tensor::from<float>(x.device(), drawn, {features_, heads_.head_dims()});
}

Tensor KernelAttention::softmax_attention(const Operands& of, const Tensor& asking,
                                          const Tensor& asked) const {
  Tensor scores = ops::matmul(asking, asked, {.transpose_b = true});
  if (of.mask.defined()) {
    const Tensor hidden = ops::mul(ops::add(of.mask, -1.0F), -kHidden);
    scores = ops::add(scores, ops::reshape(hidden, {of.mask.dim(0), 1, 1, of.mask.dim(2)}));
  }
  return ops::matmul(ops::softmax(scores), of.v);
}

Tensor KernelAttention::kernel_attention(const Operands& of, const Tensor& w) const {
  Tensor asking_mask = of.mask;
  if (asking_mask.defined()) {
    asking_mask = ops::slice(asking_mask, 2, of.k.dim(2) - of.q.dim(2), of.k.dim(2));
  }
  if (is_short_seq_) {
    const Tensor q = ops::mul(of.q, of.scale);
    return softmax_attention(of, short_features({q, of.k, asking_mask, of.mask, true}, w),
                             short_features({of.k, q, of.mask, asking_mask, false}, w));
  }
  const Tensor root = ops::sqrt(of.scale);
  const Tensor q = ops::mul(of.q, root), k = ops::mul(of.k, root);
  const Tensor asking = features({q, k, asking_mask, of.mask, true}, w);
  const Tensor asked = features({k, q, of.mask, asking_mask, false}, w);
  if (windows_.chunk > 0) return windowed(asking, asked, of.v);
  const Tensor mixed = ops::matmul(asking, ops::matmul(asked, of.v, {.transpose_a = true}));
  const Tensor sums =
      ops::reshape(ops::sum(asked, 2), {of.k.dim(0), heads_.heads(), asked.dim(3), 1});
  return ops::div(mixed, ops::add(ops::matmul(asking, sums), kStabilizer));
}

Tensor KernelAttention::windowed(const Tensor& asking, const Tensor& asked, const Tensor& v) const {
  const std::int64_t rows = v.dim(0), length = v.dim(2), features = asked.dim(3);
  const std::int64_t chunks = (length + windows_.chunk - 1) / windows_.chunk;
  const std::int64_t missing = chunks * windows_.chunk - length;
  if (missing > 0 && windows_.padding == CausalPadding::none) {
    throw UsageError(
        std::string(kKernel) + " '" + path_ + "': " + std::to_string(length) +
            " positions are no multiple of causal_chunk_length = " + std::to_string(windows_.chunk),
        {.hint = "set causal_padding to \"right\" or \"left\""});
  }
  const std::int64_t before = windows_.padding == CausalPadding::left ? missing : 0;
  const auto in_chunks = [&](const Tensor& x) {
    const Tensor whole = missing > 0 ? ops::pad(x, 2, before, missing - before) : x;
    return ops::reshape(whole, {rows, heads_.heads(), chunks, windows_.chunk, x.dim(3)});
  };
  // The ones give the sums of the features.
  const Tensor ones = Tensor::full(v.device(), {rows, heads_.heads(), length, 1}, 1);
  const Tensor parts[] = {v, ones};
  const Tensor sums =
      ops::matmul(in_chunks(asked), in_chunks(ops::concat(parts, 3)), {.transpose_a = true});
  const std::int64_t width = features * (v.dim(3) + 1);
  const Tensor seen = window_sum(ops::reshape(sums, {rows, heads_.heads(), chunks, width}),
                                 windows_.count, windows_.decay);
  const Tensor both =
      ops::matmul(in_chunks(asking),
                  ops::reshape(seen, {rows, heads_.heads(), chunks, features, v.dim(3) + 1}));
  const Tensor whole =
      ops::slice(ops::reshape(both, {rows, heads_.heads(), chunks * windows_.chunk, v.dim(3) + 1}),
                 2, before, before + length);
  return ops::div(ops::slice(whole, 3, 0, v.dim(3)),
                  ops::add(ops::slice(whole, 3, v.dim(3), v.dim(3) + 1), kStabilizer));
}

Tensor KernelAttention::fprop(const Tensor& x, FpropContext& context) {
  heads_.check(x);
  refuse_packed(kKernel, path_, context);
  const Tensor q = by_head(heads_.queries(x, context)), k = by_head(heads_.keys(x, context));
  const Tensor v = by_head(heads_.values(x, context));
  Tensor mask;
  if (const Tensor paddings = fitting(context.paddings, x); paddings.defined()) {
    mask = ops::reshape(ops::add(ops::neg(paddings), 1.0F), {x.dim(0), 1, x.dim(1), 1});
  }
  const Tensor scale = scale_of(x, mask), w = products_of(x, context);
  const auto positions_first = [](const Tensor& y) {
    return ops::contiguous(ops::transpose(y, {0, 2, 1, 3}));
  };
  if (begin_kernel_ == 0) {
    return heads_.output(positions_first(kernel_attention({q, k, v, mask, scale}, w)), context);
  }
  const std::int64_t first = std::min(begin_kernel_, x.dim(1));
  const Tensor asking = ops::mul(ops::slice(q, 2, 0, first), scale);
  const Tensor mixed = positions_first(softmax_attention({asking, k, v, mask, scale}, asking, k));
  const Tensor begin =
      softmax_output_->fprop(ops::reshape(mixed, {x.dim(0), first, x.dim(2)}), context);
  if (first == x.dim(1)) return begin;
  const Tensor later = ops::slice(q, 2, first, x.dim(1));
  const Tensor parts[] = {
      begin,
      heads_.output(positions_first(kernel_attention({later, k, v, mask, scale}, w)), context)};
  return ops::concat(parts, 1);
}

}  // namespace trivet::nn
