// SPDX-License-Identifier: Apache-2.0
// KernelAttention: attention by products of features instead of a softmax (Katharopoulos et al.
// 2020; Choromanski et al. 2020, "Performers"), x [B, T, input_dims] -> the same shape. By head,
// with q and k times the root of `scale`, which is 1 / sqrt(D) unless it is set,
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
//   identity u, whose sum in the quotient can be near 0
//   expmod   exp(u - sqrt(D) / 2)            by a constant exp(u)
//
// A factor of phi that all keys, or all features of a query, share cancels: exponents are taken
// relative to their largest, so that they never overflow. As in the papers, the rows of w are
// orthogonal in groups of D, with the lengths of normal vectors (FAVOR+). They depend on `seed` and
// the layer's path; with redraw each step of a training draws others.
//
//   block_tpl = { type = "nn/TransformerBlock", attention_tpl = "nn/KernelAttention" }
//
// The other fields are those of Model Garden's layer:
//
//   scale_by_length   scale is multiplied by ln n / ln 512 for n keys that count
//   is_short_seq      y_i = sum_j softmax_j(phi(q_i) phi(k_j)^T) v_j, with q times scale and k as it
//                     is, and phi / sqrt(num_random_features) with random features. Exponents of exp
//                     and expmod are less max(u) of the row: over its positions, heads and features
//   begin_kernel      the first positions have y_i = sum_j softmax_j(scale q_i k_j) v_j, and an
//                     output projection of their own, the child "softmax_output"
//   use_causal_windowed   position i of the chunk c = i / causal_chunk_length sees all positions of
//                     the chunks c, c - 1, .., causal_window_length in number; those of c - n count
//                     causal_window_decay^n. A row whose length is no multiple of the chunk's is
//                     filled at the end of causal_padding, with positions that do not count
//
// Keys that the context's paddings mark do not count, in a softmax neither. Throws UsageError for
// packed rows, whose texts it would mix. Children are those of nn/MultiHeadAttention.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/encoders/attention_products.h"
#include "trivet/tensor/random.h"

namespace trivet::nn {

enum class FeatureTransform { exp, expplus, relu, elu, square, identity, expmod };
TRIVET_ENUM(FeatureTransform, exp, expplus, relu, elu, square, identity, expmod)

enum class CausalPadding { none, left, right };
TRIVET_ENUM(CausalPadding, none, left, right)

struct KernelAttentionConfig : AttentionProductsConfig {
  FeatureTransform feature_transform = FeatureTransform::exp;
  std::int64_t num_random_features = 256;
  bool redraw = false;
  std::int64_t seed = 0;
  std::optional<double> scale;
  bool scale_by_length = false;
  bool is_short_seq = false;
  std::int64_t begin_kernel = 0;
  bool use_causal_windowed = false;
  std::optional<std::int64_t> causal_chunk_length;
  std::optional<std::int64_t> causal_window_length;
  std::optional<double> causal_window_decay;
  std::optional<CausalPadding> causal_padding;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    KernelAttentionConfig, AttentionProductsConfig,
    (feature_transform, "Features of queries and keys, see kernel_attention.h."),
    (num_random_features,
     "Number of random products that features are of; 0: features of queries and keys "
     "themselves.",
     between(0, 1000000)),
    (redraw, "Draws other random products in each step of a training."),
    (seed, "Seed of the random products."),
    (scale, "Factor of the products of queries and keys. Default: 1 / sqrt(D).", more_than(0)),
    (scale_by_length, "Multiplies scale by ln n / ln 512 for n keys that count."),
    (is_short_seq,
     "Takes the softmax of the products of features, for sequences so short that all "
     "pairs of positions cost less."),
    (begin_kernel, "Number of first positions with an attention by softmax.", at_least(0)),
    (use_causal_windowed, "Attends to chunks of positions up to the own one alone."),
    (causal_chunk_length, "Positions of a chunk. Default: 1.", at_least(1)),
    (causal_window_length, "Chunks that a position sees, with its own. Default: 3.", at_least(1)),
    (causal_window_decay,
     "Factor of the weight of a chunk for each chunk that it is earlier. Default: none.",
     more_than(0), at_most(1)),
    (causal_padding,
     "End of the row that fills its last chunk. Default: none, which is an error where "
     "the length is no multiple of causal_chunk_length."))

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
  // x [B, H, T, D] to features [B, H, T, M]. A mask [B, 1, T, 1] is 1 for positions that count, or
  // undefined; `other` is the keys of queries, and the reverse.
  struct Side {
    const Tensor &x, &other, &mask, &other_mask;
    bool is_query;
  };
  Tensor features(const Side& side, const Tensor& w) const;
  Tensor exponents(const Side& side, const Tensor& w) const;
  Tensor short_features(const Side& side, const Tensor& w) const;
  Tensor transformed(const Tensor& u) const;  // those without an exponent
  // [1], or with scale_by_length of each row [B, 1, 1, 1].
  Tensor scale_of(const Tensor& x, const Tensor& mask) const;
  Tensor products_of(const Tensor& x, FpropContext& context) const;  // w; undefined: none
  // q, k and v [B, H, T, D] -> [B, H, T, D].
  struct Operands {
    const Tensor &q, &k, &v, &mask, &scale;
  };
  Tensor softmax_attention(const Operands& of, const Tensor& asking, const Tensor& asked) const;
  Tensor kernel_attention(const Operands& of, const Tensor& w) const;
  Tensor windowed(const Tensor& asking, const Tensor& asked, const Tensor& v) const;

  std::string path_;
  AttentionProducts heads_;
  FeatureTransform transform_;
  std::int64_t features_;
  bool redraw_;
  std::vector<float> fixed_;
  float scale_;
  bool scale_by_length_, is_short_seq_;
  std::int64_t begin_kernel_;
  struct Windows {
    std::int64_t chunk = 0;  // 0: no windows
    std::int64_t count = 0;
    double decay = 1;
    CausalPadding padding = CausalPadding::none;
  };
  Windows windows_;
  std::shared_ptr<Layer> softmax_output_;  // null if no position begins without features
};

}  // namespace trivet::nn
