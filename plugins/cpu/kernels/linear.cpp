// SPDX-License-Identifier: Apache-2.0
// linear_fwd and linear_bwd.

#include "cpu/kernels/activation.h"
#include "cpu/kernels/gemm.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

const float* floats(const void* p) {
  return static_cast<const float*>(p);
}
float* floats(void* p) {
  return static_cast<float*>(p);
}

Gemm product(Transpose trans_a, Transpose trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
             const void* a, std::int64_t lda, const void* b, std::int64_t ldb, void* c) {
  Gemm g;
  g.trans_a = trans_a, g.trans_b = trans_b;
  g.m = m, g.n = n, g.k = k;
  g.a = floats(a), g.lda = lda;
  g.b = floats(b), g.ldb = ldb;
  g.c = floats(c), g.ldc = n;
  return g;
}

template <typename Linear>
bool supports(const Linear& d) {
  return d.dtype == TV_F32 && is_plain(d.activation);
}

}  // namespace

tv_status linear_fwd(tv_ctx* ctx, const tv_linear* d) {
  if (!supports(*d)) return TV_UNSUPPORTED;
  Gemm g = product(Transpose::no, Transpose::no, d->rows, d->out, d->in, d->x, d->in, d->w, d->out,
                   d->y);
  g.epilogue = {floats(d->b), floats(d->pre), d->activation};
  GemmGroup group;
  group.add(g);
  return group.run(ctx);
}

tv_status linear_bwd(tv_ctx* ctx, const tv_linear_grad* d) {
  if (!supports(*d)) return TV_UNSUPPORTED;
  const bool plain = d->activation == TV_ACT_NONE;
  // Without an activation dz is dy, and only the sums remain to be computed.
  float* dz = plain ? const_cast<float*>(floats(d->dy)) : floats(d->dz);
  if ((!plain || d->db) && !activation_grad(ctx, d->activation, d->rows, d->out, floats(d->saved),
                                            floats(d->dy), dz, floats(d->db), d->beta_db)) {
    return TV_OUT_OF_MEMORY;
  }
  GemmGroup group;
  if (d->dw) {
    Gemm g = product(Transpose::yes, Transpose::no, d->in, d->out, d->rows, d->x, d->in, dz, d->out,
                     d->dw);
    g.beta = d->beta_dw;
    group.add(g);
  }
  if (d->dx) {
    group.add(product(Transpose::no, Transpose::yes, d->rows, d->in, d->out, dz, d->out, d->w,
                      d->out, d->dx));
  }
  return group.run(ctx);
}

}  // namespace cpu
