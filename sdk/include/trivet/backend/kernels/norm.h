/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for batch normalization (trivet/ops/ops_norm.h), offered by a backend through
 * tv_backend.extension. The SDK composes it from reductions and elementwise functions where a
 * backend has none. (Norms over the last axis are in the table itself: norm_fwd, norm_bwd.) */
#ifndef TRIVET_BACKEND_KERNELS_NORM_H
#define TRIVET_BACKEND_KERNELS_NORM_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_BATCH_NORM_FWD "batch_norm_fwd/1"
#define TV_BATCH_NORM_BWD "batch_norm_bwd/1"

/* Ioffe and Szegedy 2015, of each column of x [rows, n]:
 *
 *   y = act((x - mean) / sqrt(variance + epsilon) * gamma + beta)
 *
 * with the column's mean and biased variance, which are written to mean and variance [n], f32; over
 * no rows at all both are 0. gamma and beta [n] may be null (1 and 0). activation is TV_ACT_NONE or
 * TV_ACT_RELU. The variance must not be computed as mean(x^2) - mean^2, which loses all digits
 * where the mean is large. */
typedef struct tv_batch_norm {
  uint32_t struct_size;
  uint8_t dtype, activation;
  int64_t rows, n;
  float epsilon;
  const void *x, *gamma, *beta;
  void* y;
  float *mean, *variance;
} tv_batch_norm;

/* Its gradient, through mean and variance, too. y is that of the forward call (null for
 * TV_ACT_NONE). dx [rows, n] is overwritten and may be dy (in place); dgamma and dbeta [n] are
 * accumulated with their betas (0 or 1). All three may be null. */
typedef struct tv_batch_norm_grad {
  uint32_t struct_size;
  uint8_t dtype, activation;
  int64_t rows, n;
  float epsilon;
  const void *x, *gamma, *y, *dy;
  const float *mean, *variance;
  void *dx, *dgamma, *dbeta;
  float beta_dgamma, beta_dbeta;
} tv_batch_norm_grad;

typedef tv_status (*tv_batch_norm_fwd_fn)(tv_ctx*, const tv_batch_norm*);
typedef tv_status (*tv_batch_norm_bwd_fn)(tv_ctx*, const tv_batch_norm_grad*);

/* X(ID, FUNCTION, ARGUMENTS) for each kernel of this file, e.g. TV_BATCH_NORM_FWD, batch_norm_fwd,
 * tv_batch_norm. */
#define TV_FOR_EACH_NORM_KERNEL(X)                    \
  X(TV_BATCH_NORM_FWD, batch_norm_fwd, tv_batch_norm) \
  X(TV_BATCH_NORM_BWD, batch_norm_bwd, tv_batch_norm_grad)

#ifdef __cplusplus
}
#endif
#endif
