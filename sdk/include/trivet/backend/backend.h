/* SPDX-License-Identifier: Apache-2.0 */
/* The compute backend: a C table of functions, so that any toolchain (nvcc, icx, hipcc, a C
 * compiler) can build one.
 *
 * A backend allocates device memory and computes; it knows nothing about shapes beyond its
 * arguments, nothing about layers, and nothing about automatic differentiation. 16 functions are
 * mandatory: 7 for the device and 9 for computing. All others may be null, or may answer
 * TV_UNSUPPORTED for some arguments: the SDK then runs a fallback made of the mandatory ones and
 * counts the calls. The run summary reports them as "fallback: attention_fwd (128 calls)".
 *
 * Rules for authors
 *  1. Inputs are contiguous, row-major, 64-byte aligned at their allocation, unless the function
 *     says otherwise. Outputs never overlap inputs, except where "in place" is said.
 *  2. Decide TV_UNSUPPORTED before writing anything.
 *  3. Accumulate in f32 or better, whatever the storage type.
 *  4. The same inputs give the same bits, on every call and for every number of threads: split work
 *     with tv_host.parallel_for (whose pieces depend on sizes only) and never by thread count.
 *  5. Calls on one context come from one thread at a time, in order. Work may be queued; `sync` and
 *     a device-to-host `transfer` wait for it. Where only the queued work finds an error (an index
 *     outside a table), the first of these two that waits for it answers TV_ERROR.
 *  6. Empty arrays (any extent 0) are legal everywhere and mean: write nothing, or the neutral
 *     element (sum 0, maximum -inf, argmax -1).
 *  7. Types: `fill`, `copy`, `select` and `gather_rows` take every storage type (operands of the
 *     last two agree); `binary` takes compute types and TV_I32 (no TV_DIV or TV_POW); all others
 *     take compute types. Any other type is answered with TV_UNSUPPORTED. TV_F32 is always both a
 *     storage and a compute type, TV_I32 and TV_BOOL are always storage types.
 *  8. A NaN makes every float that is computed from it a NaN (maximum, minimum and relu included).
 *     Denormal numbers may be read and written as 0.
 *
 * The table only grows at its end: `struct_size` tells how much of it a backend knows. */
#ifndef TRIVET_BACKEND_H
#define TRIVET_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TV_BACKEND_API_VERSION 1
#define TV_MAX_RANK 6

typedef int32_t tv_status;
#define TV_OK 0
#define TV_UNSUPPORTED 1 /* nothing was written; the SDK composes the result */
#define TV_ERROR (-1)    /* the text was given to tv_host.set_error */
#define TV_OUT_OF_MEMORY (-2)

typedef enum tv_dtype {
  TV_F32 = 0,
  TV_BF16 = 1,
  TV_F16 = 2,
  TV_I32 = 3,
  TV_U8 = 4,
  TV_BOOL = 5, /* one byte, 0 or 1 */
  TV_U32 = 6   /* random bits */
} tv_dtype;

/* An array in device memory. Strides count elements and may be 0 where a function allows it. */
typedef struct tv_view {
  void* data;
  int64_t shape[TV_MAX_RANK];
  int64_t stride[TV_MAX_RANK];
  uint8_t rank;
  uint8_t dtype; /* tv_dtype */
} tv_view;

typedef struct tv_ctx tv_ctx; /* the backend's own state for one opened device */

/* What the host offers a backend; valid until `close` returns. */
typedef struct tv_host {
  uint32_t struct_size;
  uint32_t api_version;
  void* self;
  void (*set_error)(const struct tv_host*, const char* text);
  void (*log)(const struct tv_host*, int32_t level,
              const char* text); /* 0 debug, 1 info, 2 warning, 3 error */
  /* Device memory for the duration of the current call only, 64-byte aligned; two calls give two
   * blocks. Null when there is none left. To be called by the thread that called the backend, never
   * inside a piece of parallel_for. */
  void* (*scratch)(const struct tv_host*, uint64_t bytes);
  /* Calls fn(arg, begin, end, worker) for consecutive pieces of [0, n), each of `grain` items (the
   * last may be shorter), on the host's threads, and waits. Piece borders depend on n and grain
   * only. `worker` is below `max_workers` and no two pieces run at the same time with the same
   * worker. */
  void (*parallel_for)(const struct tv_host*, int64_t n, int64_t grain,
                       void (*fn)(void* arg, int64_t begin, int64_t end, int32_t worker),
                       void* arg);
  int32_t max_workers;
} tv_host;

typedef struct tv_option {
  const char* key;
  const char* value; /* as text: 42, true, 0.5, raw text for strings */
} tv_option;

typedef struct tv_info {
  uint32_t struct_size;
  char name[64];           /* for people, e.g. "Highway 1.0.3 AVX2" */
  uint32_t storage_dtypes; /* bit 1 << tv_dtype */
  uint32_t compute_dtypes;
  int32_t host_visible; /* 1: device memory may be read by the processor directly */
  int32_t alignment;    /* of alloc, at least 64 */
  int32_t device_count;
  double peak_flops[8]; /* per tv_dtype and device; 0 = unknown */
} tv_info;

typedef enum tv_direction {
  TV_HOST_TO_DEVICE = 0,
  TV_DEVICE_TO_HOST = 1,
  TV_DEVICE_TO_DEVICE = 2
} tv_direction;

typedef enum tv_unary_op {
  TV_NEG,
  TV_ABS,
  TV_EXP,
  TV_LOG,
  TV_SQRT,
  TV_RSQRT,
  TV_TANH,
  TV_SIGMOID,
  TV_SIN,
  TV_COS,
  TV_FLOOR
} tv_unary_op;

/* TV_LT and TV_EQ write TV_BOOL. TV_MAX and TV_MIN return a NaN if either side is one. */
typedef enum tv_binary_op {
  TV_ADD,
  TV_SUB,
  TV_MUL,
  TV_DIV,
  TV_MAX,
  TV_MIN,
  TV_POW,
  TV_LT,
  TV_EQ
} tv_binary_op;

/* TV_REDUCE_ARGMAX writes TV_I32: the first index of the largest element (of the first NaN if there
 * is one). */
typedef enum tv_reduce_op { TV_REDUCE_SUM, TV_REDUCE_MAX, TV_REDUCE_ARGMAX } tv_reduce_op;

/* C[b] = alpha * op(A[b]) * op(B[b]) + beta * C[b]; op transposes where the flag is set. Row-major
 * with leading dimensions. beta is 0 (C is not read) or 1. m, n, k may be 0. */
typedef struct tv_matmul {
  uint32_t struct_size;
  uint8_t dtype;
  uint8_t trans_a, trans_b;
  int64_t batch, m, n, k;
  const void* a;
  int64_t lda, stride_a; /* stride 0: one matrix for all b */
  const void* b;
  int64_t ldb, stride_b;
  void* c;
  int64_t ldc, stride_c;
  float alpha, beta;
} tv_matmul;

/* Activations, with what their gradient needs: RELU, TANH and SIGMOID the output y; all others the
 * input. The slope of RELU at 0 is 0, as in other frameworks. The gated forms read [.., 2h] as (a,
 * b) halves and write act(a) * b as [.., h]. GELU is the exact one (erf). */
typedef enum tv_activation {
  TV_ACT_NONE = 0,
  TV_ACT_RELU,
  TV_ACT_TANH,
  TV_ACT_SIGMOID,
  TV_ACT_GELU,
  TV_ACT_GELU_TANH,
  TV_ACT_SILU,
  TV_ACT_GEGLU,
  TV_ACT_GEGLU_TANH,
  TV_ACT_SWIGLU
} tv_activation;

/* y = act(x w + b). x [rows, in], w [in, out], b [out] or null, y [rows, out]. `pre` [rows, out]
 * receives x w + b when not null (asked for only where the activation's gradient needs its input).
 * No gated activations here. */
typedef struct tv_linear {
  uint32_t struct_size;
  uint8_t dtype, activation;
  int64_t rows, in, out;
  const void *x, *w, *b;
  void *y, *pre;
} tv_linear;

/* Gradient of tv_linear. `saved` is y or pre, as the activation needs (null for TV_ACT_NONE). `dz`
 * [rows, out] is workspace and may be dy itself (in place). Writes dx = dz w^T (null: not wanted),
 * dw = beta_dw * dw + x^T dz and db = beta_db * db + column sums of dz (null: not wanted); the
 * betas are 0 or 1. */
typedef struct tv_linear_grad {
  uint32_t struct_size;
  uint8_t dtype, activation;
  int64_t rows, in, out;
  const void *x, *w, *saved, *dy;
  void *dz, *dx, *dw, *db;
  float beta_dw, beta_db;
} tv_linear_grad;

typedef enum tv_norm_kind { TV_LAYER_NORM = 0, TV_RMS_NORM = 1 } tv_norm_kind;

/* y = (s - mean) * rstd * gamma + beta over the last axis, s = x + residual; RMS norm has no mean
 * and no beta. x [rows, n]. residual, sum (receives s), gamma, beta may be null. mean and rstd
 * [rows] are f32; variance is biased. */
typedef struct tv_norm {
  uint32_t struct_size;
  uint8_t dtype, kind;
  int64_t rows, n;
  float epsilon;
  const void *x, *residual, *gamma, *beta;
  void *sum, *y;
  float *mean, *rstd;
} tv_norm;

/* Gradient of tv_norm with x = s. dgamma and dbeta [n] are accumulated with their betas (0 or 1)
 * and may be null. */
typedef struct tv_norm_grad {
  uint32_t struct_size;
  uint8_t dtype, kind;
  int64_t rows, n;
  const void *x, *gamma, *dy;
  const float *mean, *rstd;
  void *dx, *dgamma, *dbeta;
  float beta_dgamma, beta_dbeta;
} tv_norm_grad;

/* Scaled dot-product attention. q [B, Tq, H, D], k and v [B, Tkv, Hkv, D], H a multiple of Hkv; the
 * four may be strided in all but the last axis. Query i is at position i + q_offset. A key j is
 * seen by query i unless causal and j > i + q_offset, or window > 0 and i + q_offset - j >= window,
 * or the segment ids (i32 [B, Tq], [B, Tkv], both null or both set) differ. Scores are scale * q.k,
 * then softcap * tanh(score / softcap) where softcap > 0. A query that sees nothing gives zeros.
 * lse [B, H, Tq] f32 receives the log-sum-exp of each row (-inf when nothing is seen). */
typedef struct tv_attention {
  uint32_t struct_size;
  tv_view q, k, v, out;
  const int32_t *q_segments, *kv_segments;
  float* lse;
  float scale, softcap;
  int32_t causal, window;
  int64_t q_offset;
} tv_attention;

/* Gradient: dq, dk, dv are contiguous and overwritten. Uses out and lse of the forward call. */
typedef struct tv_attention_grad {
  uint32_t struct_size;
  tv_attention fwd;
  tv_view dout, dq, dk, dv;
} tv_attention_grad;

/* Rotary positions: pairs (x[i], x[i + rotary/2]) of the first `rotary` features of the last axis
 * turn by sign * position * theta^(-2 i / rotary). x and out [B, T, H, D]; positions i32 [B, T]. In
 * place is allowed. */
typedef struct tv_rope {
  uint32_t struct_size;
  tv_view x, out;
  const int32_t* positions;
  int64_t rotary;
  float theta, sign;
} tv_rope;

/* Softmax cross entropy per row. logits [rows, classes]; targets i32 [rows], a negative one means
 * weight 0, one of `classes` or more is TV_ERROR, forward and backward. Target distribution q = (1
 * - smoothing) * onehot + smoothing / classes. loss[r] = lse - sum(q * logits) + z_loss * lse^2,
 * to the precision of f32 however large the logits: log(sum(exp(x - m))) - sum(q * (x - m)), m the
 * largest of the row, where lse alone has lost the digits.
 * Forward: loss and lse [rows] f32 are written, dlogits is null. Backward: loss is null, lse is
 * read and dlogits[r, c] = row_grad[r] * ((1 + 2 z_loss lse) p - q), p = softmax(logits) to the
 * same precision; dlogits may be logits (in place). */
typedef struct tv_softmax_xent {
  uint32_t struct_size;
  uint8_t dtype;
  int64_t rows, classes;
  const void* logits;
  const int32_t* targets;
  const float* row_grad;
  float *loss, *lse;
  void* dlogits;
  float smoothing, z_loss;
} tv_softmax_xent;

/* Linear layer and softmax cross entropy over row chunks, so that the logits of all rows never
 * exist at once. h [rows, in]; w [in, classes], or [classes, in] when w_transposed (tied
 * embedding); softcap > 0 bounds logits to softcap * tanh(logit / softcap). targets and loss [rows]
 * as above, unweighted. dh = d(sum row_weight * loss)/dh, dw = beta_dw * dw + d(..)/dw; each may be
 * null: not wanted. */
typedef struct tv_linear_xent {
  uint32_t struct_size;
  uint8_t dtype, w_transposed;
  int64_t rows, in, classes;
  const void *h, *w;
  const int32_t* targets;
  const float* row_weight;
  float *loss, *lse;
  void *dh, *dw;
  float beta_dw, smoothing, z_loss, softcap;
} tv_linear_xent;

/* out[e] = keep(e) ? x[e] / (1 - p) : 0, keep(e) = bits(offset + e) >= floor(p * 2^32), bits as in
 * rng_bits. The gradient is the same call on dy. In place is allowed. */
typedef struct tv_dropout {
  uint32_t struct_size;
  uint8_t dtype;
  int64_t n;
  const void* x;
  void* out;
  uint64_t key, offset;
  float p;
} tv_dropout;

/* One update of n contiguous parameters, in place. With g = grad_scale * grad:
 *  TV_SGD    g += weight_decay * w; momentum 0: w -= lr g; else slot0 = v:
 *            v = momentum v + g; w -= lr (nesterov ? g + momentum v : v)
 *  TV_ADAM   slot0 = m, slot1 = v: m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
 *            w -= lr weight_decay w (decoupled), then
 *            w -= step_size * m / (sqrt(v) * v_scale + epsilon), with step_size =
 *            lr / (1 - beta1^t) and v_scale = 1 / sqrt(1 - beta2^t), which the caller computes
 *            in double from the betas as they stand here
 *  TV_LION   slot0 = m: w -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay w);
 *            m = beta2 m + (1 - beta2) g */
typedef enum tv_optim_kind { TV_SGD = 0, TV_ADAM = 1, TV_LION = 2 } tv_optim_kind;
typedef struct tv_optim {
  uint32_t struct_size;
  uint8_t kind, nesterov;
  int64_t n;
  float* param;
  const float* grad;
  float *slot0, *slot1;
  float grad_scale, lr, weight_decay, momentum, beta1, beta2, epsilon, step_size, v_scale;
} tv_optim;

typedef struct tv_backend {
  uint32_t struct_size;
  uint32_t api_version; /* TV_BACKEND_API_VERSION */

  /* Mandatory: device */
  tv_status (*info)(tv_info* out);
  /* `options` are the keys of [backend."plugin/Name"]; an unknown one is an error that names it. */
  tv_status (*open)(int32_t device, const tv_option* options, size_t option_count, const tv_host*,
                    tv_ctx** out);
  void (*close)(tv_ctx*);
  tv_status (*alloc)(tv_ctx*, uint64_t bytes, void** out);
  void (*free)(tv_ctx*, void*);
  tv_status (*transfer)(tv_ctx*, void* dst, const void* src, uint64_t bytes, tv_direction);
  tv_status (*sync)(tv_ctx*);

  /* Mandatory: compute */
  tv_status (*fill)(tv_ctx*, const tv_view* dst, double value);
  /* Any strides on both sides (0 on the source: broadcast) and any pair of types: transpose, slice,
   * concat, cast. Same shape on both sides. Float to integer truncates toward zero and stops at the
   * ends of the range (NaN: 0); integer to a narrower integer keeps the low bits; float to a
   * narrower float rounds to the nearest, ties to even; to bool is "not zero". */
  tv_status (*copy)(tv_ctx*, const tv_view* dst, const tv_view* src);
  tv_status (*unary)(tv_ctx*, tv_unary_op, const tv_view* out, const tv_view* x);
  /* out is contiguous; a and b have its shape, at most 3 axes after collapsing, stride 0 =
   * broadcast. In place on a or b is allowed where that operand is contiguous. */
  tv_status (*binary)(tv_ctx*, tv_binary_op, const tv_view* out, const tv_view* a,
                      const tv_view* b);
  /* out = cond ? a : b, element by element; cond is TV_BOOL; broadcasting as in binary. */
  tv_status (*select)(tv_ctx*, const tv_view* out, const tv_view* cond, const tv_view* a,
                      const tv_view* b);
  /* x [outer, n, inner] contiguous; out [outer, inner]. Sums in a fixed order. */
  tv_status (*reduce)(tv_ctx*, tv_reduce_op, const tv_view* out, const tv_view* x);
  tv_status (*matmul)(tv_ctx*, const tv_matmul*);
  /* out[i, :] = table[idx[i], :]; idx i32 [n]. An index outside the table is TV_ERROR. */
  tv_status (*gather_rows)(tv_ctx*, const tv_view* out, const tv_view* table, const tv_view* idx);
  /* table[idx[i], :] += src[i, :], rows added in the order of i. */
  tv_status (*scatter_add_rows)(tv_ctx*, const tv_view* table, const tv_view* idx,
                                const tv_view* src);

  /* Optional: fused */
  tv_status (*linear_fwd)(tv_ctx*, const tv_linear*);
  tv_status (*linear_bwd)(tv_ctx*, const tv_linear_grad*);
  tv_status (*norm_fwd)(tv_ctx*, const tv_norm*);
  tv_status (*norm_bwd)(tv_ctx*, const tv_norm_grad*);
  tv_status (*act_fwd)(tv_ctx*, tv_activation, const tv_view* y, const tv_view* x);
  /* `saved` is y or x, as the activation needs; dx may be dy (in place) for the ungated
   * forms. */
  tv_status (*act_bwd)(tv_ctx*, tv_activation, const tv_view* dx, const tv_view* saved,
                       const tv_view* dy);
  tv_status (*attention_fwd)(tv_ctx*, const tv_attention*);
  tv_status (*attention_bwd)(tv_ctx*, const tv_attention_grad*);
  tv_status (*rope)(tv_ctx*, const tv_rope*);
  tv_status (*softmax_xent)(tv_ctx*, const tv_softmax_xent*);
  tv_status (*linear_xent)(tv_ctx*, const tv_linear_xent*);
  tv_status (*dropout)(tv_ctx*, const tv_dropout*);
  tv_status (*optim)(tv_ctx*, const tv_optim*);
  /* out f32 [1] = sum of squares of the n elements of x, in a fixed tree. */
  tv_status (*sumsq)(tv_ctx*, const tv_view* out, const tv_view* x);
  /* out u32 [n]; element e = word (offset + e) % 2 of Threefry-2x32-20 with key {low, high half of
   * `key`} and counter {low, high half of (offset + e) / 2}. */
  tv_status (*rng_bits)(tv_ctx*, const tv_view* out, uint64_t key, uint64_t offset);

  /* Optional: system */
  tv_status (*alloc_host)(tv_ctx*, uint64_t bytes, void** out); /* pinned */
  void (*free_host)(tv_ctx*, void*);
  tv_status (*transfer_async)(tv_ctx*, void* dst, const void* src, uint64_t bytes, tv_direction,
                              uint64_t* event);
  tv_status (*capture)(tv_ctx*, int32_t action,
                       uint64_t id); /* 0 begin, 1 end, 2 replay; addresses are stable */
  /* A backend-specific kernel for an op that is not in this table, by name and revision, e.g.
   * "conv2d_fwd/1" (trivet/backend/kernels/). Null when there is none. */
  const void* (*extension)(tv_ctx*, const char* name);
} tv_backend;

/* X(NAME) for every function that computes: for code that does the same with each of them. */
/* clang-format off */
#define TV_FOR_EACH_MANDATORY_KERNEL(X)                                             \
  X(fill) X(copy) X(unary) X(binary) X(select) X(reduce) X(matmul)                  \
  X(gather_rows) X(scatter_add_rows)
#define TV_FOR_EACH_OPTIONAL_KERNEL(X)                                              \
  X(linear_fwd) X(linear_bwd) X(norm_fwd) X(norm_bwd) X(act_fwd) X(act_bwd)         \
  X(attention_fwd) X(attention_bwd) X(rope) X(softmax_xent) X(linear_xent)          \
  X(dropout) X(optim) X(sumsq) X(rng_bits)
#define TV_FOR_EACH_KERNEL(X) TV_FOR_EACH_MANDATORY_KERNEL(X) TV_FOR_EACH_OPTIONAL_KERNEL(X)
/* clang-format on */

/* A backend plugin registers a function of this type: trivet::backend<&get>("Name", "doc"). */
typedef const tv_backend* (*tv_get_backend)(void);

#ifdef __cplusplus
}
#endif
#endif
