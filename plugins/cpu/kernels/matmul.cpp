// SPDX-License-Identifier: Apache-2.0
// Matrix products: the tiles of gemm.h, and the kernel matmul.
#include <limits>

#include "cpu/kernels/blas.h"
#include "cpu/kernels/gemm.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

// Each tile packs its operands again. Two tiles repay this as soon as a second core is worth
// waking. More tiles are made only of large products, where packing is a few percent of a tile's
// work.
constexpr double kSplitFlops = 1e6;  // some 10 us of one core
constexpr double kTileFlops = 64e6;
constexpr std::int64_t kMostTiles = 64;
constexpr std::int64_t kTileEdge = 16;  // tiles start at multiples of this

std::int64_t rounded_tile(std::int64_t extent, std::int64_t parts) {
  const std::int64_t tile = ceil_div(ceil_div(extent, parts), kTileEdge) * kTileEdge;
  return std::max<std::int64_t>(kTileEdge, tile);
}

// A power of two that depends only on the sizes: the same bits for every number of threads.
std::int64_t tile_count(const Gemm& g) {
  const double flops =
      2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  std::int64_t tiles = flops < kSplitFlops ? 1 : 2;
  while (tiles < kMostTiles && static_cast<double>(tiles) * kTileFlops < flops) tiles *= 2;
  return tiles;
}

struct Split {
  std::int64_t m, n;  // number of parts
};

// A is packed once per column of tiles and B once per row of tiles. Returns the split into `parts`
// tiles that packs least.
Split best_split(const Gemm& g, std::int64_t parts) {
  Split best{1, parts};
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t m = 1; m <= parts; m *= 2) {
    const std::int64_t n = parts / m;
    if (m > ceil_div(g.m, kTileEdge) || n > ceil_div(g.n, kTileEdge)) continue;
    const double packed = static_cast<double>(n * g.m) + static_cast<double>(m * g.n);
    if (packed < least) best = {m, n};
    least = std::min(least, packed);
  }
  return best;
}

CBLAS_TRANSPOSE in_blas(Transpose transpose) {
  return transpose == Transpose::yes ? CblasTrans : CblasNoTrans;
}

}  // namespace

bool fits_blas(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t ldb,
               std::int64_t ldc) {
  constexpr std::int64_t kMost = std::numeric_limits<blasint>::max();
  return std::max({m, n, k, lda, ldb, ldc}) <= kMost;
}

void multiply(const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  const auto integer = [](std::int64_t x) { return static_cast<blasint>(x); };
  // With k = 0 a leading dimension may be 0, which OpenBLAS refuses.
  const auto leading = [&](std::int64_t x) { return std::max<blasint>(1, integer(x)); };
  blas().sgemm(CblasRowMajor, in_blas(g.trans_a), in_blas(g.trans_b), integer(g.m), integer(g.n),
               integer(g.k), g.alpha, g.a, leading(g.lda), g.b, leading(g.ldb), g.beta, g.c,
               leading(g.ldc));
}

void GemmGroup::add(const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  const Split split = best_split(g, tile_count(g));
  Entry& e = entries_[count_++];
  e.gemm = g;
  e.tile_m = rounded_tile(g.m, split.m);
  e.tile_n = rounded_tile(g.n, split.n);
  e.tiles_n = ceil_div(g.n, e.tile_n);
  e.first_task = tasks_;
  tasks_ += ceil_div(g.m, e.tile_m) * e.tiles_n;
}

void GemmGroup::run(tv_ctx* ctx) const {
  parallel(ctx, tasks_, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::size_t which = count_ - 1;
      while (entries_[which].first_task > task) --which;
      const Entry& e = entries_[which];
      const std::int64_t tile = task - e.first_task;
      const std::int64_t i = tile / e.tiles_n * e.tile_m, j = tile % e.tiles_n * e.tile_n;
      Gemm part = e.gemm;
      part.m = std::min(e.tile_m, part.m - i);
      part.n = std::min(e.tile_n, part.n - j);
      part.a += part.trans_a == Transpose::yes ? i : i * part.lda;
      part.b += part.trans_b == Transpose::yes ? j * part.ldb : j;
      part.c += i * part.ldc + j;
      multiply(part);
      if (part.epilogue.empty()) continue;
      apply_epilogue(part.epilogue.at(i * part.ldc + j, j), part.m, part.n, part.c, part.ldc);
    }
  });
}

tv_status matmul(tv_ctx* ctx, const tv_matmul* d) {
  if (d->dtype != TV_F32 || !fits_blas(d->m, d->n, d->k, d->lda, d->ldb, d->ldc)) {
    return TV_UNSUPPORTED;
  }
  Gemm g;
  g.trans_a = static_cast<Transpose>(d->trans_a != 0);
  g.trans_b = static_cast<Transpose>(d->trans_b != 0);
  g.m = d->m, g.n = d->n, g.k = d->k;
  g.a = static_cast<const float*>(d->a), g.lda = d->lda;
  g.b = static_cast<const float*>(d->b), g.ldb = d->ldb;
  g.c = static_cast<float*>(d->c), g.ldc = d->ldc;
  g.alpha = d->alpha, g.beta = d->beta;
  if (d->batch == 1) {
    GemmGroup group;
    group.add(g);
    group.run(ctx);
    return TV_OK;
  }
  const double flops = 2.0 * static_cast<double>(g.m * g.n) * static_cast<double>(g.k);
  const auto grain = std::max<std::int64_t>(1, static_cast<std::int64_t>(1e6 / (flops + 1)));
  parallel(ctx, d->batch, grain, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t batch = begin; batch < end; ++batch) {
      Gemm one = g;
      one.a += batch * d->stride_a;
      one.b += batch * d->stride_b;
      one.c += batch * d->stride_c;
      multiply(one);
    }
  });
  return TV_OK;
}

}  // namespace cpu
