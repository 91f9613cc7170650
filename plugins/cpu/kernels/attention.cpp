// SPDX-License-Identifier: Apache-2.0
// attention_fwd and attention_bwd: process a few queries of one head at a time against all keys
// they may see, as products on strided rows with a softmax between them. The backward pass
// recomputes the scores from the log-sum-exp that the forward pass stored (Dao et al. 2022).

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/attention.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "cpu/kernels/gemm.h"
#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

#ifndef TRIVET_CPU_ATTENTION_HIDDEN
#define TRIVET_CPU_ATTENTION_HIDDEN
namespace cpu {
// Replaces minus infinity: its exponential is 0, and differences of it are finite.
constexpr float kHidden = -1e30f;
}  // namespace cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

void cap_scores(std::int64_t n, float cap, float* scores) {
  const V wide = set(cap), narrow = set(1 / cap);
  const float* from = scores;
  map(
      n, scores, [=](V s) { return hn::Mul(tanh(hn::Mul(s, narrow)), wide); }, from);
}

// Turns scores into weights and returns the log-sum-exp; -inf (and zeros) if all are hidden.
float softmax_in_place(std::int64_t n, float* scores) {
  const float most = row_max(n, scores);
  if (most <= kHidden) {
    std::fill_n(scores, n, 0.0f);
    return -std::numeric_limits<float>::infinity();
  }
  const V shift = set(most);
  const float* from = scores;
  map(
      n, scores, [=](V s) { return exp(hn::Sub(s, shift)); }, from);
  const float total = row_sum(n, scores);
  const V share = set(1 / total);
  map(
      n, scores, [=](V s) { return hn::Mul(s, share); }, from);
  return most + std::log(total);
}

// Computes the same weights from the log-sum-exp, into another array.
void weights_of(std::int64_t n, const float* scores, float lse, float* weights) {
  if (std::isinf(lse) && lse < 0) return void(std::fill_n(weights, n, 0.0f));
  const V shift = set(lse);
  map(
      n, weights, [=](V s) { return exp(hn::Sub(s, shift)); }, scores);
}

// dp becomes scale weights (dp - delta); with a cap, scale weights (dp - delta) (1 - (s/cap)^2).
void score_gradient(std::int64_t n, const float* weights, const float* scores, float delta,
                    float scale, float cap, float* dp) {
  const V shift = set(delta), factor = set(scale);
  const float* from = dp;
  if (cap <= 0) {
    map(
        n, dp, [=](V p, V d) { return hn::Mul(hn::Mul(p, factor), hn::Sub(d, shift)); }, weights,
        from);
    return;
  }
  const V narrow = set(1 / cap);
  map(
      n, dp,
      [=](V p, V s, V d) {
        const V t = hn::Max(hn::Mul(s, narrow), set(-1));  // hidden scores have weight 0
        const V slope = hn::NegMulAdd(t, t, set(1));
        return hn::Mul(hn::Mul(hn::Mul(p, factor), slope), hn::Sub(d, shift));
      },
      weights, scores, from);
}

float dot(std::int64_t n, const float* a, const float* b) {
  return row_dot(n, a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(cap_scores);
HWY_EXPORT(softmax_in_place);
HWY_EXPORT(weights_of);
HWY_EXPORT(score_gradient);
HWY_EXPORT(dot);

constexpr std::int64_t kMostQueries = 64;  // per tile

// Rows of one head: [T, D], `step` elements apart.
struct HeadRows {
  float* data;
  std::int64_t step;

  float* row(std::int64_t i) const { return data + i * step; }
};

HeadRows head_rows(const tv_view& v, std::int64_t batch, std::int64_t head) {
  return {data<float>(v) + batch * v.stride[0] + head * v.stride[2],
          std::max(v.stride[1], v.shape[3])};
}

struct Extents {
  std::int64_t batch, queries, heads, depth, keys, kv_heads;

  explicit Extents(const tv_attention& a)
      : batch(a.q.shape[0]),
        queries(a.q.shape[1]),
        heads(a.q.shape[2]),
        depth(a.q.shape[3]),
        keys(a.k.shape[1]),
        kv_heads(a.k.shape[2]) {}
  std::int64_t group() const { return heads / kv_heads; }
  // Keys of one row of scores in memory, and rows that are computed at a time.
  std::int64_t row_floats() const { return std::max<std::int64_t>(1, keys); }
  std::int64_t tile() const { return std::min(std::max<std::int64_t>(1, queries), kMostQueries); }
};

// Rows need distinct addresses, which repeated rows (stride 0) lack.
bool has_rows(const tv_view& v) {
  return is_f32(v) && (v.shape[3] <= 1 || v.stride[3] == 1) &&
         (v.shape[1] <= 1 || v.stride[1] >= v.shape[3]);
}

bool supports(const tv_attention& a) {
  const Extents e(a);
  const std::int64_t widest =
      std::max({a.q.stride[1], a.k.stride[1], a.v.stride[1], a.out.stride[1], e.depth});
  return has_rows(a.q) && has_rows(a.k) && has_rows(a.v) && has_rows(a.out) &&
         fits_blas(e.queries, e.keys, e.depth, widest, widest, e.row_floats());
}

// Consecutive queries of one head, and the keys that any of them may see.
struct Tile {
  std::int64_t batch, head, first, count;  // queries
  std::int64_t key_begin, key_end;

  std::int64_t keys() const { return key_end - key_begin; }
};

// The keys that query i may see, ignoring segments.
void key_range(const tv_attention& a, std::int64_t i, std::int64_t& begin, std::int64_t& end) {
  const std::int64_t at = i + a.q_offset, keys = a.k.shape[1];
  end = a.causal ? std::clamp<std::int64_t>(at + 1, 0, keys) : keys;
  begin = a.window > 0 ? std::clamp<std::int64_t>(at - a.window + 1, 0, end) : 0;
}

Tile tile_at(const tv_attention& a, std::int64_t batch, std::int64_t head, std::int64_t first,
             std::int64_t count) {
  Tile t{batch, head, first, count, 0, 0};
  std::int64_t unused = 0;
  key_range(a, first, t.key_begin, unused);
  key_range(a, first + count - 1, unused, t.key_end);
  t.key_begin = std::min(t.key_begin, t.key_end);
  return t;
}

Gemm product(Transpose trans_a, Transpose trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
             const HeadRows& a, const HeadRows& b, const HeadRows& c, float beta = 0) {
  Gemm g;
  g.trans_a = trans_a, g.trans_b = trans_b;
  g.m = m, g.n = n, g.k = k;
  g.a = a.data, g.lda = a.step;
  g.b = b.data, g.ldb = b.step;
  g.c = c.data, g.ldc = c.step;
  g.beta = beta;
  return g;
}

HeadRows from(const HeadRows& rows, std::int64_t first) {
  return {rows.row(first), rows.step};
}

// Hides the keys that query i of the tile may not see.
void hide(const tv_attention& a, const Tile& t, std::int64_t i, float* scores) {
  std::int64_t begin = 0, end = 0;
  key_range(a, t.first + i, begin, end);
  std::fill_n(scores, std::max<std::int64_t>(0, begin - t.key_begin), kHidden);
  for (std::int64_t j = std::max(end, t.key_begin); j < t.key_end; ++j) {
    scores[j - t.key_begin] = kHidden;
  }
  if (!a.q_segments) return;
  const std::int32_t own = a.q_segments[t.batch * a.q.shape[1] + t.first + i];
  const std::int32_t* others = a.kv_segments + t.batch * a.k.shape[1];
  for (std::int64_t j = t.key_begin; j < t.key_end; ++j) {
    if (others[j] != own) scores[j - t.key_begin] = kHidden;
  }
}

// Computes scale q k^T, capped, with unseen keys hidden.
void score(const tv_attention& a, const Tile& t, const HeadRows& scores) {
  const Extents e(a);
  Gemm g = product(Transpose::no, Transpose::yes, t.count, t.keys(), e.depth,
                   from(head_rows(a.q, t.batch, t.head), t.first),
                   from(head_rows(a.k, t.batch, t.head / e.group()), t.key_begin), scores);
  g.alpha = a.scale;
  multiply(g);
  for (std::int64_t i = 0; i < t.count; ++i) {
    if (a.softcap > 0) HWY_DYNAMIC_DISPATCH(cap_scores)(t.keys(), a.softcap, scores.row(i));
    hide(a, t, i, scores.row(i));
  }
}

void forward_tile(const tv_attention& a, const Tile& t, const HeadRows& scores) {
  const Extents e(a);
  const HeadRows out = from(head_rows(a.out, t.batch, t.head), t.first);
  float* lse = a.lse + (t.batch * e.heads + t.head) * e.queries + t.first;
  if (t.keys() == 0) {
    for (std::int64_t i = 0; i < t.count; ++i) {
      std::fill_n(out.row(i), e.depth, 0.0f);
      lse[i] = -std::numeric_limits<float>::infinity();
    }
    return;
  }
  score(a, t, scores);
  for (std::int64_t i = 0; i < t.count; ++i) {
    lse[i] = HWY_DYNAMIC_DISPATCH(softmax_in_place)(t.keys(), scores.row(i));
  }
  multiply(product(Transpose::no, Transpose::no, t.count, e.depth, t.keys(), scores,
                   from(head_rows(a.v, t.batch, t.head / e.group()), t.key_begin), out));
}

// One thread's scratch: scores, weights and gradients of a tile.
struct Workspace {
  HeadRows scores, weights, gradients;
};

// Adds the tile's share to dk and dv, which start as zeros, and writes its dq.
void backward_tile(const tv_attention_grad& g, const Tile& t, const Workspace& w) {
  const tv_attention& a = g.fwd;
  const Extents e(a);
  const std::int64_t kv = t.head / e.group(), keys = t.keys();
  const HeadRows dq = from(head_rows(g.dq, t.batch, t.head), t.first);
  if (keys == 0) {
    for (std::int64_t i = 0; i < t.count; ++i) std::fill_n(dq.row(i), e.depth, 0.0f);
    return;
  }
  const HeadRows dout = from(head_rows(g.dout, t.batch, t.head), t.first);
  const HeadRows out = from(head_rows(a.out, t.batch, t.head), t.first);
  const float* lse = a.lse + (t.batch * e.heads + t.head) * e.queries + t.first;
  score(a, t, w.scores);
  for (std::int64_t i = 0; i < t.count; ++i) {
    HWY_DYNAMIC_DISPATCH(weights_of)(keys, w.scores.row(i), lse[i], w.weights.row(i));
  }
  multiply(product(Transpose::yes, Transpose::no, keys, e.depth, t.count, w.weights, dout,
                   from(head_rows(g.dv, t.batch, kv), t.key_begin), 1));
  multiply(product(Transpose::no, Transpose::yes, t.count, keys, e.depth, dout,
                   from(head_rows(a.v, t.batch, kv), t.key_begin), w.gradients));
  for (std::int64_t i = 0; i < t.count; ++i) {
    const float delta = HWY_DYNAMIC_DISPATCH(dot)(e.depth, dout.row(i), out.row(i));
    HWY_DYNAMIC_DISPATCH(score_gradient)
    (keys, w.weights.row(i), w.scores.row(i), delta, a.scale, a.softcap, w.gradients.row(i));
  }
  multiply(product(Transpose::no, Transpose::no, t.count, e.depth, keys, w.gradients,
                   from(head_rows(a.k, t.batch, kv), t.key_begin), dq));
  multiply(product(Transpose::yes, Transpose::no, keys, e.depth, t.count, w.gradients,
                   from(head_rows(a.q, t.batch, t.head), t.first),
                   from(head_rows(g.dk, t.batch, kv), t.key_begin), 1));
}

// Calls f for every tile of a head's queries, in order.
template <typename F>
void for_tiles(const tv_attention& a, std::int64_t batch, std::int64_t head, const F& f) {
  const Extents e(a);
  for (std::int64_t first = 0; first < e.queries; first += e.tile()) {
    f(tile_at(a, batch, head, first, std::min(e.tile(), e.queries - first)));
  }
}

}  // namespace

tv_status attention_fwd(tv_ctx* ctx, const tv_attention* a) {
  if (!supports(*a)) return TV_UNSUPPORTED;
  const Extents e(*a);
  if (e.depth == 0) return TV_UNSUPPORTED;
  const std::int64_t each = e.tile() * e.row_floats();
  float* memory = scratch(ctx, each * ctx->host->max_workers);
  if (!memory) return TV_OUT_OF_MEMORY;
  const std::int64_t grain = row_grain(e.queries * e.keys);
  parallel(ctx, e.batch * e.heads, grain, [&](auto begin, auto end, auto worker) {
    const HeadRows scores{memory + worker * each, e.row_floats()};
    for (std::int64_t i = begin; i < end; ++i) {
      for_tiles(*a, i / e.heads, i % e.heads, [&](const Tile& t) { forward_tile(*a, t, scores); });
    }
  });
  return TV_OK;
}

// Heads that share keys are one task: its tiles add to the same dk and dv in order.
tv_status attention_bwd(tv_ctx* ctx, const tv_attention_grad* g) {
  const tv_attention& a = g->fwd;
  if (!supports(a) || !has_rows(g->dout)) return TV_UNSUPPORTED;
  const Extents e(a);
  if (e.depth == 0) return TV_UNSUPPORTED;
  const std::int64_t each = e.tile() * e.row_floats();
  float* memory = scratch(ctx, 3 * each * ctx->host->max_workers);
  if (!memory) return TV_OUT_OF_MEMORY;
  const std::int64_t grain = row_grain(e.queries * e.keys * e.group());
  parallel(ctx, e.batch * e.kv_heads, grain, [&](auto begin, auto end, auto worker) {
    float* own = memory + 3 * each * worker;
    const std::int64_t step = e.row_floats();
    const Workspace w{{own, step}, {own + each, step}, {own + 2 * each, step}};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / e.kv_heads, kv = i % e.kv_heads;
      for (const tv_view* sums : {&g->dk, &g->dv}) {
        const HeadRows rows = head_rows(*sums, batch, kv);
        for (std::int64_t j = 0; j < e.keys; ++j) std::fill_n(rows.row(j), e.depth, 0.0f);
      }
      for (std::int64_t head = kv * e.group(); head < (kv + 1) * e.group(); ++head) {
        for_tiles(a, batch, head, [&](const Tile& t) { backward_tile(*g, t, w); });
      }
    }
  });
  return TV_OK;
}

}  // namespace cpu
#endif
