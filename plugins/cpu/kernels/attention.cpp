// SPDX-License-Identifier: Apache-2.0
// attention_fwd and attention_bwd: some queries of one head at a time against blocks of the keys
// they may see, so that scores stay in the cache (Dao et al. 2022, "FlashAttention"). The keys and
// values of a head are packed once for all queries of the heads that share them. The backward pass
// recomputes the scores from the log-sum-exp that the forward pass stored.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/kernels/attention_scores.h"
#include "cpu/kernels/attention_tile.h"
#include "cpu/kernels/few_queries.h"
#include "cpu/kernels/key_rows.h"
#include "cpu/products/gemm_kernel.h"
#include "cpu/support/context.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

constexpr std::int64_t kPackingRows = 32;  // queries that repay packing the keys and values
constexpr std::int64_t kTasksPerWorker = 4;
constexpr std::int64_t kStreamedFloats = 65536;  // keys and values that repay a task

// Rows need distinct addresses, which repeated rows (stride 0) lack.
bool has_rows(const tv_view& v) {
  return is_f32(v) && (v.shape[3] <= 1 || v.stride[3] == 1) &&
         (v.shape[1] <= 1 || v.stride[1] >= v.shape[3]);
}

bool supports(const tv_attention& a) {
  return has_rows(a.q) && has_rows(a.k) && has_rows(a.v) && has_rows(a.out) && a.q.shape[3] > 0;
}

// Hides the keys that queries of the tile may not see. The scores start at key `first_key`.
void hide(const tv_attention& a, const Tile& t, std::int64_t first_key, const ScoreBlock& scores) {
  const std::int64_t position = t.first + a.q_offset, width = scores.width;
  const std::int32_t* const queries =
      a.q_segments ? a.q_segments + t.batch * a.q.shape[1] + t.first : nullptr;
  for (std::int64_t j = 0; j < scores.keys; ++j) {
    const std::int64_t key = first_key + j;
    float* const row = scores.row(j);
    // Queries [begin, end) may see this key.
    const std::int64_t begin =
        a.causal ? std::clamp<std::int64_t>(key - position, 0, width) : std::int64_t{0};
    const std::int64_t end =
        a.window > 0 ? std::clamp<std::int64_t>(key + a.window - position, begin, width) : width;
    std::fill(row, row + begin, kHidden);
    std::fill(row + end, row + width, kHidden);
    if (queries == nullptr) continue;
    const std::int32_t own = a.kv_segments[t.batch * a.k.shape[1] + key];
    for (std::int64_t i = begin; i < std::min(end, t.count); ++i) {
      if (queries[i] != own) row[i] = kHidden;
    }
  }
}

// Hands out parts of one thread's memory; without memory it only counts.
class Arena {
 public:
  explicit Arena(float* memory) : memory_(memory) {}
  float* take(std::int64_t count) {
    float* const taken = memory_ == nullptr ? nullptr : memory_ + size_;
    size_ += ceil_div(count, 16) * 16;
    return taken;
  }
  std::int64_t size() const { return size_; }

 private:
  float* memory_;
  std::int64_t size_ = 0;
};

HeadRows rows_of(const tv_view& v, const Tile& t) {
  const HeadRows rows = head_rows(v, t.batch, t.head);
  return {rows.row(t.first), rows.step};
}

// The rows of a tile as a right factor [D, queries].
Factor pack_queries(const HeadRows& rows, const Tile& t, std::int64_t depth, float* memory) {
  pack_right(Transpose::yes, depth, t.count, rows.data, rows.step, memory);
  return {memory, depth, Layout::packed};
}

// Products of one tile and one block of keys. They skip the scores that causal attention hides.
class TileProducts {
 public:
  TileProducts(const tv_attention& a, const Tile& t, std::int64_t first_key)
      : causal_(a.causal != 0), diagonal_(first_key - t.first - a.q_offset) {}

  // [keys, queries] = alpha * left * right
  void scores(std::int64_t keys, const Factor& left, const Factor& right, std::int64_t depth,
              float alpha, const ScoreBlock& c) const {
    multiply(Skip::columns, keys, c.width, depth, left, right, {c.data, kTileQueries}, alpha, 0);
  }
  // c [queries, D] = scores^T * right + beta * c
  void by_query(std::int64_t queries, std::int64_t depth, const ScoreBlock& scores,
                const Factor& right, const HeadRows& c, float beta) const {
    const Factor left = {scores.data, kTileQueries, Layout::columns};
    multiply(Skip::depth_after, queries, depth, scores.keys, left, right, c, 1, beta);
  }
  // c [keys, D] += scores * right
  void add_by_key(std::int64_t queries, std::int64_t depth, const ScoreBlock& scores,
                  const Factor& right, const HeadRows& c) const {
    const Factor left = {scores.data, kTileQueries, Layout::rows};
    multiply(Skip::depth_before, scores.keys, depth, queries, left, right, c, 1, 1);
  }

 private:
  void multiply(Skip skip, std::int64_t m, std::int64_t n, std::int64_t k, const Factor& left,
                const Factor& right, const HeadRows& c, float alpha, float beta) const {
    BlockProduct p;
    p.m = m, p.n = n, p.k = k;
    p.left = left, p.right = right;
    p.c = c.data, p.ldc = c.step;
    p.alpha = alpha, p.beta = beta;
    if (causal_) p.skip = skip, p.diagonal = diagonal_;
    multiply_block(p);
  }

  bool causal_;
  std::int64_t diagonal_;  // query i sees key j if i >= j + diagonal
};

// Computes scale k q^T of one block, capped, with unseen keys hidden.
void score(const tv_attention& a, const Tile& t, const KeyRows& keys, std::int64_t block, Span seen,
           const Factor& queries, const ScoreBlock& scores) {
  const std::int64_t first_key = block * kBlockKeys + seen.begin;
  TileProducts(a, t, first_key)
      .scores(scores.keys, keys.left(block, seen.begin), queries, a.q.shape[3], a.scale, scores);
  if (a.softcap > 0) cap_scores(scores, a.softcap);
  hide(a, t, first_key, scores);
}

// The memory of one thread in the forward pass.
struct ForwardSpace {
  float *keys = nullptr, *values = nullptr, *queries, *scores, *out;

  ForwardSpace(Arena& arena, const Extents& e, bool packs_keys, bool packs_values) {
    if (packs_keys) keys = arena.take(KeyRows::left_memory(e));
    if (packs_values) values = arena.take(KeyRows::right_memory(e));
    queries = arena.take(whole_columns(kTileQueries) * e.depth);
    scores = arena.take(kBlockKeys * kTileQueries);
    out = arena.take(kTileQueries * e.depth);
  }
};

void forward_tile(const tv_attention& a, const Tile& t, const KeyRows& rows,
                  const ForwardSpace& space) {
  const Extents e(a);
  const HeadRows to = rows_of(a.out, t), sums = {space.out, e.depth};
  const Factor queries = pack_queries(rows_of(a.q, t), t, e.depth, space.queries);
  RunningSoftmax softmax;
  bool first = true;
  t.each_block([&](std::int64_t block, Span seen) {
    const ScoreBlock scores = {space.scores, seen.size(), t.width()};
    score(a, t, rows, block, seen, queries, scores);
    add_to_softmax(scores, softmax);
    for (std::int64_t i = 0; !first && i < t.count; ++i) {
      scale_row(e.depth, softmax.correction[static_cast<std::size_t>(i)], sums.row(i), sums.row(i));
    }
    TileProducts(a, t, block * kBlockKeys + seen.begin)
        .by_query(t.count, e.depth, scores, rows.right(block, seen.begin), sums, first ? 0 : 1);
    first = false;
  });
  float* const lse = a.lse + (t.batch * e.heads + t.head) * e.queries + t.first;
  for (std::int64_t i = 0; i < t.count; ++i) {
    const float total = softmax.total[static_cast<std::size_t>(i)];
    if (first || total == 0) {
      std::fill_n(to.row(i), e.depth, 0.0f);
      lse[i] = -std::numeric_limits<float>::infinity();
    } else {
      scale_row(e.depth, 1 / total, sums.row(i), to.row(i));
      lse[i] = softmax.most[static_cast<std::size_t>(i)] + std::log(total);
    }
  }
}

// The memory of one thread in the backward pass.
struct BackwardSpace {
  float *keys, *keys_right, *values, *queries, *queries_right, *douts, *douts_right;
  float *scores, *weights, *gradients;
  float *dk, *dv;  // of the keys of one head, [T, D]

  BackwardSpace(Arena& arena, const Extents& e) {
    keys = arena.take(KeyRows::left_memory(e)), keys_right = arena.take(KeyRows::right_memory(e));
    values = arena.take(KeyRows::left_memory(e));
    for (float** transposed : {&queries, &douts}) {
      *transposed = arena.take(whole_columns(kTileQueries) * e.depth);
    }
    for (float** straight : {&queries_right, &douts_right}) {
      *straight = arena.take(kTileQueries * whole_columns(e.depth));
    }
    for (float** block : {&scores, &weights, &gradients}) {
      *block = arena.take(kBlockKeys * kTileQueries);
    }
    dk = arena.take(e.keys * e.depth), dv = arena.take(e.keys * e.depth);
  }
};

HeadRows from(const HeadRows& rows, std::int64_t first) {
  return {rows.row(first), rows.step};
}

// Adds the tile's share to dk and dv of the space, and writes its dq.
void backward_tile(const tv_attention_grad& g, const Tile& t, const KeyRows& keys,
                   const KeyRows& values, const BackwardSpace& space) {
  const tv_attention& a = g.fwd;
  const Extents e(a);
  const HeadRows dq = rows_of(g.dq, t);
  if (t.keys.size() == 0) {
    for (std::int64_t i = 0; i < t.count; ++i) std::fill_n(dq.row(i), e.depth, 0.0f);
    return;
  }
  const HeadRows q = rows_of(a.q, t), out = rows_of(a.out, t), dout = rows_of(g.dout, t);
  const Factor queries = pack_queries(q, t, e.depth, space.queries);
  const Factor douts = pack_queries(dout, t, e.depth, space.douts);
  const auto straight = [&](const HeadRows& rows, float* memory) {
    pack_right(Transpose::no, t.count, e.depth, rows.data, rows.step, memory);
    return Factor{memory, t.count, Layout::packed};
  };
  const Factor queries_right = straight(q, space.queries_right);
  const Factor douts_right = straight(dout, space.douts_right);
  PerQuery lse = {}, delta = {};
  std::copy_n(a.lse + (t.batch * e.heads + t.head) * e.queries + t.first, t.count, lse.data());
  for (std::int64_t i = 0; i < t.count; ++i) {
    delta[static_cast<std::size_t>(i)] = dot(e.depth, dout.row(i), out.row(i));
  }
  const HeadRows dk = {space.dk, e.depth}, dv = {space.dv, e.depth};
  bool first = true;
  t.each_block([&](std::int64_t block, Span seen) {
    const std::int64_t size = seen.size(), key = block * kBlockKeys + seen.begin;
    const ScoreBlock scores = {space.scores, size, t.width()};
    const ScoreBlock weights = {space.weights, size, t.width()};
    const ScoreBlock gradients = {space.gradients, size, t.width()};
    score(a, t, keys, block, seen, queries, scores);
    weights_of(scores, lse, weights.data);
    const TileProducts products(a, t, key);
    products.add_by_key(t.count, e.depth, weights, douts_right, from(dv, key));
    products.scores(size, values.left(block, seen.begin), douts, e.depth, 1, gradients);
    score_gradient(scores, weights.data, delta, a.scale, a.softcap, gradients.data);
    products.add_by_key(t.count, e.depth, gradients, queries_right, from(dk, key));
    products.by_query(t.count, e.depth, gradients, keys.right(block, seen.begin), dq,
                      first ? 0 : 1);
    first = false;
  });
}

// Memory of one thread, as a kernel of type Space takes it.
template <typename Space, typename... Args>
std::int64_t space_size(const Extents& e, Args... args) {
  Arena arena(nullptr);
  Space(arena, e, args...);
  return arena.size();
}

// A task is all queries of the heads that share keys.
tv_status attend_few(tv_ctx* ctx, const tv_attention& a) {
  const Extents e(a);
  const bool packs_values = e.keys > 0 && e.depth % kColumnStep != 0;
  const std::int64_t values_size = packs_values ? KeyRows::right_memory(e) : 0;
  const std::int64_t each = values_size + FewQueries::memory(e);
  float* const memory = scratch(ctx, each * ctx->host->max_workers);
  if (memory == nullptr) return TV_OUT_OF_MEMORY;
  const std::int64_t grain = ceil_div(kStreamedFloats, 2 * e.keys * e.depth + 1);
  parallel(ctx, e.batch * e.kv_heads, grain, [&](auto begin, auto end, auto worker) {
    float* const values = memory + worker * each;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t batch = task / e.kv_heads, kv = task % e.kv_heads;
      KeyRows rows;
      if (e.keys > 0) {
        rows.set_left(e, head_rows(a.k, batch, kv), nullptr);
        rows.set_right(e, head_rows(a.v, batch, kv), packs_values ? values : nullptr);
      }
      FewQueries(a, batch, kv, values + values_size).attend(rows);
    }
  });
  return TV_OK;
}

}  // namespace

// A task is some tiles of heads that share keys.
tv_status attention_fwd(tv_ctx* ctx, const tv_attention* a) {
  if (!supports(*a)) return TV_UNSUPPORTED;
  const Extents e(*a);
  if (e.batch * e.heads * e.queries == 0) return TV_OK;
  if (FewQueries::suit(e)) return attend_few(ctx, *a);
  const std::int64_t tiles = e.group() * e.tiles(), heads = e.batch * e.kv_heads;
  const bool packs = e.group() * e.queries >= kPackingRows && e.keys > 0;
  const bool packs_values = e.keys > 0 && (packs || e.depth % kColumnStep != 0);
  const std::int64_t parts =
      std::clamp<std::int64_t>(ceil_div(kTasksPerWorker * ctx->host->max_workers, heads), 1, tiles);
  const std::int64_t each = space_size<ForwardSpace>(e, packs, packs_values);
  float* const memory = scratch(ctx, each * ctx->host->max_workers);
  if (memory == nullptr) return TV_OUT_OF_MEMORY;
  const std::int64_t grain = row_grain(e.queries * e.keys * e.group() / parts);
  parallel(ctx, heads * parts, grain, [&](auto begin, auto end, auto worker) {
    Arena arena(memory + worker * each);
    const ForwardSpace space(arena, e, packs, packs_values);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t batch = task / parts / e.kv_heads, kv = task / parts % e.kv_heads;
      const std::int64_t part = task % parts;
      KeyRows rows;
      if (e.keys > 0) {
        rows.set_left(e, head_rows(a->k, batch, kv), space.keys);
        rows.set_right(e, head_rows(a->v, batch, kv), space.values);
      }
      for (std::int64_t i = part * tiles / parts; i < (part + 1) * tiles / parts; ++i) {
        const Tile tile(*a, batch, kv * e.group() + i / e.tiles(), i % e.tiles());
        forward_tile(*a, tile, rows, space);
      }
    }
  });
  return TV_OK;
}

// Heads that share keys are one task: its tiles add to the same dk and dv in order.
tv_status attention_bwd(tv_ctx* ctx, const tv_attention_grad* g) {
  const tv_attention& a = g->fwd;
  if (!supports(a) || !has_rows(g->dout)) return TV_UNSUPPORTED;
  const Extents e(a);
  const std::int64_t each = space_size<BackwardSpace>(e);
  float* const memory = scratch(ctx, each * ctx->host->max_workers);
  if (memory == nullptr) return TV_OUT_OF_MEMORY;
  const std::int64_t grain = row_grain(e.queries * e.keys * e.group());
  parallel(ctx, e.batch * e.kv_heads, grain, [&](auto begin, auto end, auto worker) {
    Arena arena(memory + worker * each);
    const BackwardSpace space(arena, e);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / e.kv_heads, kv = i % e.kv_heads;
      std::fill_n(space.dk, e.keys * e.depth, 0.0f);
      std::fill_n(space.dv, e.keys * e.depth, 0.0f);
      KeyRows keys, values;
      if (e.keys > 0) {
        keys.set_left(e, head_rows(a.k, batch, kv), space.keys);
        keys.set_right(e, head_rows(a.k, batch, kv), space.keys_right);
        values.set_left(e, head_rows(a.v, batch, kv), space.values);
      }
      for (std::int64_t tile = 0; tile < e.group() * e.tiles(); ++tile) {
        const std::int64_t head = kv * e.group() + tile / e.tiles();
        backward_tile(*g, Tile(a, batch, head, tile % e.tiles()), keys, values, space);
      }
      const HeadRows dk = head_rows(g->dk, batch, kv), dv = head_rows(g->dv, batch, kv);
      for (std::int64_t j = 0; j < e.keys; ++j) {
        std::copy_n(space.dk + j * e.depth, e.depth, dk.row(j));
        std::copy_n(space.dv + j * e.depth, e.depth, dv.row(j));
      }
    }
  });
  return TV_OK;
}

}  // namespace cpu
