// SPDX-License-Identifier: Apache-2.0
// KernelAttention: attention by products of features instead of a softmax (Katharopoulos et al.
// 2020; Choromanski et al. 2020, "Performers"), x [B, T, input_dims] -> the same shape. By head,
// with q and k divided by D^(1/4),
//
//   y_i = phi(q_i) sum_j phi(k_j)^T v_j / (phi(q_i) sum_j phi(k_j)^T + 1e-6)
//
// Time and memory grow with T, not with T^2. phi has num_random_features features of the products
// u = w x with random w [features, D]; or, if that is 0, of x itself (u = x):
//
//   exp      exp(u - |x|^2 / 2)              unbiased for the softmax (Choromanski et al., lemma 1)
//   expplus  d exp(a |w|^2 + b u - |x|^2 / 2)   the same with less variance (Likhosherstov et al.
//            2022, "Chefs' Random Tables", theorem 3.3): b = sqrt(1 - 4 a), d = (1 - 4 a)^(D / 4),
//            a from the mean of |q_i + k_j|^2 by head, without a gradient
//   relu     max(u, 0) + 1e-3
//   elu      elu(u) + 1
//   square   u^2
//
// A factor of phi that all keys, or all features of a query, share cancels: exponents are taken
// relative to their largest, so that they never overflow. As in the papers, the rows of w are
// orthogonal in groups of D, with the lengths of normal vectors (FAVOR+). They depend on `seed` and
// the layer's path; with redraw each step of a training draws others.
//
//   block_tpl = { type = "nn/TransformerBlock", attention_tpl = "nn/KernelAttention" }
//
// Keys that the context's paddings mark do not count. Throws UsageError for packed rows, whose
// texts it would mix. Children are those of nn/MultiHeadAttention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/encoders/attention_products.h"
#include "trivet/tensor/random.h"

namespace trivet::nn {

enum class FeatureTransform { exp, expplus, relu, elu, square };
TRIVET_ENUM(FeatureTransform, exp, expplus, relu, elu, square)

struct KernelAttentionConfig : AttentionProductsConfig {
  FeatureTransform feature_transform = FeatureTransform::exp;
  std::int64_t num_random_features = 256;
  bool redraw = false;
  std::int64_t seed = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(KernelAttentionConfig, AttentionProductsConfig,
              (feature_transform, "Features of queries and keys, see kernel_attention.h."),
              (num_random_features,
               "Number of random products that features are of; 0: features of queries and keys "
               "themselves.",
               between(0, 1000000)),
              (redraw, "Draws other random products in each step of a training."),
              (seed, "Seed of the random products."))

class KernelAttention final : public Layer {
 public:
  using Config = KernelAttentionConfig;
  KernelAttention(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

  // w [features, D] of a key, row by row.
  static std::vector<float> random_products(std::int64_t features, std::int64_t dims, RngKey key);
  // w outside training; empty without random features.
  const std::vector<float>& products() const { return fixed_; }

 private:
  // x [B, H, T, D] to features [B, H, T, M]. `mask` [B, 1, T, 1] is 1 for positions that count, or
  // undefined; `other` is the keys of queries, and the reverse.
  struct Side {
    const Tensor &x, &other, &mask;
    bool is_query;
  };
  Tensor features(const Side& side, const Tensor& w) const;
  Tensor exponents(const Side& side, const Tensor& w) const;

  std::string path_;
  AttentionProducts heads_;
  FeatureTransform transform_;
  std::int64_t features_;
  bool redraw_;
  std::vector<float> fixed_;
};

}  // namespace trivet::nn
