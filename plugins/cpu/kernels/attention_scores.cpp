// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/attention_scores.cpp"
#include <hwy/foreach_target.h>

#include "cpu/kernels/attention_scores.h"

#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// Vectors of one row that are processed together: enough chains to hide latencies.
inline constexpr int kTogether = 4;

// Calls f(size, first column) for groups of vectors of a row; size is a constant, kTogether or 1.
template <typename F>
HWY_INLINE void for_columns(std::int64_t width, const F& f) {
  const auto step = static_cast<std::int64_t>(lanes());
  std::int64_t column = 0;
  for (; column + kTogether * step <= width; column += kTogether * step) {
    f(std::integral_constant<int, kTogether>(), column);
  }
  for (; column < width; column += step) f(std::integral_constant<int, 1>(), column);
}

void cap_scores_of(std::int64_t n, float cap, float* row) {
  const V wide = set(cap), narrow = set(1 / cap);
  map(
      n, row, [=](V s) { return hn::Mul(tanh(hn::Mul(s, narrow)), wide); },
      static_cast<const float*>(row));
}

void cap_block(const ScoreBlock& scores, float cap) {
  for (std::int64_t key = 0; key < scores.keys; ++key) {
    cap_scores_of(scores.width, cap, scores.row(key));
  }
}

// As softmax_step: the sum of the weights is in the order of the keys.
void softmax_row(std::int64_t query, std::int64_t keys, float* scores, RunningSoftmax& softmax) {
  const auto at = static_cast<std::size_t>(query);
  const float before = softmax.most[at], largest = row_max(keys, scores);
  const float most = largest > before || std::isnan(largest) ? largest : before;
  const float shift = most <= kHidden ? 0.0f : most;
  const float correction = hn::GetLane(exp(set(before - shift)));
  map(
      keys, scores, [=](V s) { return exp(hn::Sub(s, set(shift))); },
      static_cast<const float*>(scores));
  float total = softmax.total[at] * correction;
  for (std::int64_t key = 0; key < keys; ++key) total += scores[key];
  softmax.correction[at] = correction, softmax.most[at] = most, softmax.total[at] = total;
}

void softmax_step(const ScoreBlock& scores, RunningSoftmax& softmax) {
  const std::size_t n = lanes();
  for_columns(scores.width, [&](auto together, std::int64_t column) {
    constexpr int kCount = decltype(together)::value;
    V most[kCount], shift[kCount], total[kCount];
    unrolled<kCount>(
        [&](auto v) TRIVET_CPU_INLINE { most[v] = load(softmax.most.data() + column + v * n); });
    for (std::int64_t key = 0; key < scores.keys; ++key) {
      const float* row = scores.row(key) + column;
      unrolled<kCount>([&](auto v)
                           TRIVET_CPU_INLINE { most[v] = maximum(most[v], load(row + v * n)); });
    }
    unrolled<kCount>([&](auto v) TRIVET_CPU_INLINE {
      const std::size_t at = static_cast<std::size_t>(column) + v * n;
      // Where all keys are hidden, all weights are 0.
      shift[v] = hn::IfThenZeroElse(hn::Le(most[v], set(kHidden)), most[v]);
      const V correction = exp(hn::Sub(load(softmax.most.data() + at), shift[v]));
      total[v] = hn::Mul(load(softmax.total.data() + at), correction);
      store(correction, softmax.correction.data() + at);
      store(most[v], softmax.most.data() + at);
    });
    for (std::int64_t key = 0; key < scores.keys; ++key) {
      float* row = scores.row(key) + column;
      unrolled<kCount>([&](auto v) TRIVET_CPU_INLINE {
        const V weight = exp(hn::Sub(load(row + v * n), shift[v]));
        total[v] = add(total[v], weight);
        store(weight, row + v * n);
      });
    }
    unrolled<kCount>(
        [&](auto v) TRIVET_CPU_INLINE { store(total[v], softmax.total.data() + column + v * n); });
  });
}

void weights_block(const ScoreBlock& scores, const PerQuery& lse, float* weights) {
  const V infinity = set(std::numeric_limits<float>::infinity());
  const auto weight = [=](V score, V x) {
    const V shift = hn::IfThenZeroElse(hn::Eq(x, hn::Neg(infinity)), x);
    return exp(hn::Sub(score, shift));
  };
  for (std::int64_t key = 0; key < scores.keys; ++key) {
    map(scores.width, weights + key * kTileQueries, weight,
        static_cast<const float*>(scores.row(key)), lse.data());
  }
}

void gradient_block(const ScoreBlock& scores, const float* weights, const PerQuery& delta,
                    float scale, float cap, float* dp) {
  const V factor = set(scale), narrow = set(cap > 0 ? 1 / cap : 0);
  const auto plain = [=](V w, V shift, V d) {
    const V gradient = hn::Mul(hn::Mul(w, factor), hn::Sub(d, shift));
    return hn::IfThenZeroElse(hn::Eq(w, set(0)), gradient);  // dp may not have been computed
  };
  const auto capped = [=](V w, V shift, V d, V score) {
    const V t = hn::Max(hn::Mul(score, narrow), set(-1));  // hidden scores have weight 0
    return hn::Mul(plain(w, shift, d), hn::NegMulAdd(t, t, set(1)));
  };
  for (std::int64_t key = 0; key < scores.keys; ++key) {
    const std::int64_t at = key * kTileQueries;
    const float* from = dp + at;
    if (cap > 0) {
      map(scores.width, dp + at, capped, weights + at, delta.data(), from,
          static_cast<const float*>(scores.row(key)));
    } else {
      map(scores.width, dp + at, plain, weights + at, delta.data(), from);
    }
  }
}

void scaled_row(std::int64_t n, float factor, const float* from, float* to) {
  const V by = set(factor);
  map(
      n, to, [=](V x) { return hn::Mul(x, by); }, from);
}

float row_product(std::int64_t n, const float* a, const float* b) {
  return row_dot(n, a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(cap_scores_of);
HWY_EXPORT(cap_block);
HWY_EXPORT(softmax_row);
HWY_EXPORT(softmax_step);
HWY_EXPORT(weights_block);
HWY_EXPORT(gradient_block);
HWY_EXPORT(scaled_row);
HWY_EXPORT(row_product);

}  // namespace

void cap_scores(const ScoreBlock& scores, float cap) {
  HWY_DYNAMIC_DISPATCH(cap_block)(scores, cap);
}

void cap_row(std::int64_t keys, float cap, float* scores) {
  HWY_DYNAMIC_DISPATCH(cap_scores_of)(keys, cap, scores);
}

void add_row_to_softmax(std::int64_t query, std::int64_t keys, float* scores,
                        RunningSoftmax& softmax) {
  HWY_DYNAMIC_DISPATCH(softmax_row)(query, keys, scores, softmax);
}

void add_to_softmax(const ScoreBlock& scores, RunningSoftmax& softmax) {
  HWY_DYNAMIC_DISPATCH(softmax_step)(scores, softmax);
}

void weights_of(const ScoreBlock& scores, const PerQuery& lse, float* weights) {
  HWY_DYNAMIC_DISPATCH(weights_block)(scores, lse, weights);
}

void score_gradient(const ScoreBlock& scores, const float* weights, const PerQuery& delta,
                    float scale, float cap, float* dp) {
  HWY_DYNAMIC_DISPATCH(gradient_block)(scores, weights, delta, scale, cap, dp);
}

void scale_row(std::int64_t n, float factor, const float* from, float* to) {
  HWY_DYNAMIC_DISPATCH(scaled_row)(n, factor, from, to);
}

float dot(std::int64_t n, const float* a, const float* b) {
  return HWY_DYNAMIC_DISPATCH(row_product)(n, a, b);
}

}  // namespace cpu
#endif
