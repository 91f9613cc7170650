// SPDX-License-Identifier: Apache-2.0
// The kernel matmul: one product, or a batch of products of the same sizes.
#include "cpu/kernels/gemm.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

constexpr double kGrainFlops = 1e6;  // some 10 us of one core

Gemm at(const tv_matmul& d, Gemm g, std::int64_t batch) {
  g.a += batch * d.stride_a;
  g.b += batch * d.stride_b;
  g.c += batch * d.stride_c;
  return g;
}

// Each product on one thread.
tv_status multiply_batch(tv_ctx* ctx, const tv_matmul& d, const Gemm& g) {
  const std::int64_t own = gemm_memory(g);
  float* const memory = scratch(ctx, own * ctx->host->max_workers);
  if (memory == nullptr) return TV_OUT_OF_MEMORY;
  const auto grain =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kGrainFlops / (flops(g) + 1)));
  parallel(ctx, d.batch, grain, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
    for (std::int64_t batch = begin; batch < end; ++batch) {
      multiply(at(d, g, batch), memory + worker * own);
    }
  });
  return TV_OK;
}

}  // namespace

tv_status matmul(tv_ctx* ctx, const tv_matmul* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  Gemm g;
  g.trans_a = static_cast<Transpose>(d->trans_a != 0);
  g.trans_b = static_cast<Transpose>(d->trans_b != 0);
  g.m = d->m, g.n = d->n, g.k = d->k;
  g.a = static_cast<const float*>(d->a), g.lda = d->lda;
  g.b = static_cast<const float*>(d->b), g.ldb = d->ldb;
  g.c = static_cast<float*>(d->c), g.ldc = d->ldc;
  g.alpha = d->alpha, g.beta = d->beta;
  if (d->batch > 1 && d->batch >= ctx->host->max_workers) return multiply_batch(ctx, *d, g);
  float* memory = nullptr;
  for (std::int64_t batch = 0; batch < d->batch; ++batch) {
    GemmGroup group;
    group.add(at(*d, g, batch));
    if (batch == 0) memory = scratch(ctx, group.memory(ctx));
    if (memory == nullptr) return TV_OUT_OF_MEMORY;
    group.run(ctx, memory);
  }
  return TV_OK;
}

}  // namespace cpu
