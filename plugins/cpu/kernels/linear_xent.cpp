// SPDX-License-Identifier: Apache-2.0
// linear_xent: a classifier and its softmax cross entropy, one tile of rows at a time. The logits
// of a tile are replaced by their gradients while they are in the cache.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/linear_xent.cpp"
#include <hwy/foreach_target.h>

#include "cpu/kernels/gemm.h"
#include "cpu/kernels/softmax.h"
#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// x = cap * tanh(x / cap)
void cap_row(std::int64_t n, float* x, float cap) {
  const V bound = set(cap), inverse = set(1 / cap);
  map(
      n, x, [=](V v) { return hn::Mul(bound, tanh(hn::Mul(v, inverse))); },
      static_cast<const float*>(x));
}

// x = dx * (1 - (x / cap)^2), x as cap_row left it.
void cap_slope_row(std::int64_t n, float* x, const float* dx, float cap) {
  const V inverse = set(1 / cap);
  const auto slope = [=](V v, V d) {
    const V t = hn::Mul(v, inverse);
    return hn::Mul(d, hn::NegMulAdd(t, t, set(1)));
  };
  map(n, x, slope, static_cast<const float*>(x), dx);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(cap_row);
HWY_EXPORT(cap_slope_row);

// Logits of a tile: 1 MiB, or as many rows as fast products need.
constexpr std::int64_t kTileLogits = 1 << 18;
constexpr std::int64_t kLeastRows = 512;

std::int64_t tile_rows(const tv_linear_xent& d) {
  const std::int64_t most = kTileLogits / std::max<std::int64_t>(1, d.classes);
  return std::min(d.rows, std::max(kLeastRows, most / 16 * 16));
}

// Rows [begin, begin + rows) with their logits, replaced by gradients if requested.
class Tile {
 public:
  Tile(const tv_linear_xent& d, std::int64_t begin, std::int64_t rows, float* logits)
      : d_(d),
        rows_(rows),
        h_(static_cast<const float*>(d.h) + begin * d.in),
        dh_(d.dh ? static_cast<float*>(d.dh) + begin * d.in : nullptr),
        first_(begin == 0),
        logits_(logits) {
    loss_.classes = d.classes;
    loss_.targets = d.targets + begin;
    loss_.row_grad = d.row_weight ? d.row_weight + begin : nullptr;
    loss_.loss = d.loss + begin, loss_.lse = d.lse + begin;
    loss_.smoothing = d.smoothing, loss_.z_loss = d.z_loss;
  }

  // Floats that the products need.
  std::int64_t memory(const tv_ctx* ctx) const {
    return std::max(forward().memory(ctx), backward().memory(ctx));
  }

  void run(tv_ctx* ctx, float* memory, float* capped) const {
    forward().run(ctx, memory);
    parallel(ctx, rows_, row_grain(d_.classes), [&](auto begin, auto end, auto worker) {
      float* spare = capped ? capped + worker * d_.classes : nullptr;
      for (auto r = begin; r < end; ++r) row(r, logits_ + r * d_.classes, spare);
    });
    backward().run(ctx, memory);
  }

 private:
  GemmGroup forward() const {
    GemmGroup group;
    group.add(logits());
    return group;
  }
  GemmGroup backward() const {
    GemmGroup group;
    if (d_.dw) group.add(dw());
    if (d_.dh) group.add(dh());
    return group;
  }

  // `spare` is one row of scratch, needed if logits are capped.
  void row(std::int64_t r, float* x, float* spare) const {
    const bool bounded = d_.softcap > 0;
    if (bounded) HWY_DYNAMIC_DISPATCH(cap_row)(d_.classes, x, d_.softcap);
    loss_row(loss_, r, x);
    if (!d_.dh && !d_.dw) return;
    gradient_row(loss_, r, x, bounded ? spare : x);
    if (bounded) HWY_DYNAMIC_DISPATCH(cap_slope_row)(d_.classes, x, spare, d_.softcap);
  }

  // The sum of a product with w goes over one of its dimensions.
  enum class SumOver { inputs, classes };
  // Products with w: its rows are classes where it is transposed.
  Gemm with_w(const float* a, std::int64_t lda, SumOver sum, float* c, std::int64_t n,
              std::int64_t k) const {
    const bool rows_are_inputs = d_.w_transposed == 0;
    Gemm g;
    g.trans_b = rows_are_inputs == (sum == SumOver::inputs) ? Transpose::no : Transpose::yes;
    g.m = rows_, g.n = n, g.k = k;
    g.a = a, g.lda = lda;
    g.b = static_cast<const float*>(d_.w), g.ldb = d_.w_transposed ? d_.in : d_.classes;
    g.c = c, g.ldc = n;
    return g;
  }
  Gemm logits() const { return with_w(h_, d_.in, SumOver::inputs, logits_, d_.classes, d_.in); }
  Gemm dh() const { return with_w(logits_, d_.classes, SumOver::classes, dh_, d_.in, d_.classes); }

  Gemm dw() const {
    Gemm g;
    g.trans_a = Transpose::yes;
    g.m = d_.in, g.n = d_.classes, g.k = rows_;
    g.a = h_, g.lda = d_.in;
    g.b = logits_, g.ldb = d_.classes;
    if (d_.w_transposed) {
      std::swap(g.m, g.n);
      std::swap(g.a, g.b);
      std::swap(g.lda, g.ldb);
    }
    g.c = static_cast<float*>(d_.dw), g.ldc = g.n;
    g.beta = first_ ? d_.beta_dw : 1;
    return g;
  }

  const tv_linear_xent& d_;
  std::int64_t rows_;
  const float* h_;
  float* dh_;
  bool first_;
  float* logits_;
  tv_softmax_xent loss_ = {};
};

}  // namespace

tv_status linear_xent(tv_ctx* ctx, const tv_linear_xent* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  const tv_status found = check_targets(ctx, "linear_xent", d->targets, d->rows, d->classes);
  if (found != TV_OK) return found;
  const std::int64_t step = tile_rows(*d);
  float* logits = scratch(ctx, step * d->classes);
  const bool bounded = d->softcap > 0 && (d->dh || d->dw);
  float* capped = bounded ? scratch(ctx, ctx->host->max_workers * d->classes) : nullptr;
  const auto tile = [&](std::int64_t begin) {
    return Tile(*d, begin, std::min(step, d->rows - begin), logits);
  };
  const std::int64_t last =
      std::max<std::int64_t>(0, d->rows - 1) / std::max<std::int64_t>(1, step) * step;
  float* memory = scratch(ctx, std::max(tile(0).memory(ctx), tile(last).memory(ctx)));
  if (!logits || !memory || (bounded && !capped)) return TV_OUT_OF_MEMORY;
  // Without rows one empty tile is processed, for beta_dw.
  std::int64_t begin = 0;
  do {
    tile(begin).run(ctx, memory, capped);
    begin += step;
  } while (begin < d->rows);
  return TV_OK;
}

}  // namespace cpu
#endif
