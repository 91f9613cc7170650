/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for recurrent layers (trivet/recurrent/), offered by a backend through
 * tv_backend.extension. One call computes all positions of a sequence. The SDK composes them,
 * position by position, where a backend has none.
 *
 * The part of the input, x w + b, is a product of its own. A kernel gets it in `gates`, adds the
 * part of the state, and leaves there what its gradient needs, in any form. The gradient writes
 * that of `gates` in the same memory. So a backend offers a kernel and its gradient for the same
 * arguments, or neither.
 *
 * Positions are read from first to last, or from last to first with `reverse`. At each position,
 * with the position's `start` s and `padding` p of that row (0 where the array is null), a state h
 * becomes, with `before` = (1 - s) h:
 *
 *   p before + (1 - p) next(before)
 */
#ifndef TRIVET_BACKEND_KERNELS_RECURRENT_H
#define TRIVET_BACKEND_KERNELS_RECURRENT_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_LSTM_FWD "lstm_fwd/1"
#define TV_LSTM_BWD "lstm_bwd/1"
#define TV_GRU_FWD "gru_fwd/1"
#define TV_GRU_BWD "gru_bwd/1"

/* Shapes and positions of a call. */
typedef struct tv_sequence {
  int64_t batch, time, units;
  const float *starts, *paddings; /* [batch, time], or null */
  uint8_t reverse;
} tv_sequence;

/* Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000). With the G = 4 gates
 * [i, g, f, o] = gates + h w, each of `units` columns, and clip to [-cap, cap] where cap > 0:
 *
 *   c' = clip(sigmoid(f + forget_bias) c + sigmoid(g) tanh(i));  h' = sigmoid(o) tanh(c')
 *
 * `coupled`: G = 3, [i, g, o], and c' = clip((1 - sigmoid(g)) c + sigmoid(g) tanh(i)). */
typedef struct tv_lstm {
  uint32_t struct_size;
  uint8_t dtype, coupled;
  float forget_bias, cap;
  tv_sequence sequence;
  const void* w;       /* [units, G units] */
  const void *h0, *c0; /* [batch, units], or null: zeros */
  void* gates;         /* [batch, time, G units] */
  void *h, *c;         /* written: the states after each position [batch, time, units] */
} tv_lstm;

/* Its gradient. `fwd` is as the forward call left it. dh [batch, time, units] and dlast_c [batch,
 * units], of the cells after the position that is read last, may be null: zeros. dw = beta_dw * dw
 * + .., dh0 and dc0 are overwritten; each may be null: not wanted. The gradient of an element that
 * was clipped is 0. */
typedef struct tv_lstm_grad {
  uint32_t struct_size;
  tv_lstm fwd;
  const void *dh, *dlast_c;
  void *dw, *dh0, *dc0;
  float beta_dw;
} tv_lstm_grad;

/* Gated recurrent unit (Cho et al. 2014) with the reset gate after the product, as in cuDNN. With
 * [r, z, n] = gates and [r_h, z_h, n_h] = h w, each of `units` columns:
 *
 *   h' = n' + sigmoid(z + z_h) (h - n'),  n' = tanh(n + sigmoid(r + r_h) (n_h + bias)) */
typedef struct tv_gru {
  uint32_t struct_size;
  uint8_t dtype;
  tv_sequence sequence;
  const void* w;    /* [units, 3 units] */
  const void* bias; /* [units] */
  const void* h0;   /* [batch, units], or null: zeros */
  void* gates;      /* [batch, time, 3 units] */
  void* product;    /* written for the gradient, n_h + bias or what it needs: as h */
  void* h;          /* written: the states after each position [batch, time, units] */
} tv_gru;

/* Its gradient, as above; `product` may be overwritten. dbias = beta_dbias * dbias + .. */
typedef struct tv_gru_grad {
  uint32_t struct_size;
  tv_gru fwd;
  const void* dh;
  void *dw, *dbias, *dh0;
  float beta_dw, beta_dbias;
} tv_gru_grad;

typedef tv_status (*tv_lstm_fwd_fn)(tv_ctx*, const tv_lstm*);
typedef tv_status (*tv_lstm_bwd_fn)(tv_ctx*, const tv_lstm_grad*);
typedef tv_status (*tv_gru_fwd_fn)(tv_ctx*, const tv_gru*);
typedef tv_status (*tv_gru_bwd_fn)(tv_ctx*, const tv_gru_grad*);

/* X(ID, FUNCTION, ARGUMENTS) for each kernel of this file. */
#define TV_FOR_EACH_RECURRENT_KERNEL(X)  \
  X(TV_LSTM_FWD, lstm_fwd, tv_lstm)      \
  X(TV_LSTM_BWD, lstm_bwd, tv_lstm_grad) \
  X(TV_GRU_FWD, gru_fwd, tv_gru)         \
  X(TV_GRU_BWD, gru_bwd, tv_gru_grad)

#ifdef __cplusplus
}
#endif
#endif
