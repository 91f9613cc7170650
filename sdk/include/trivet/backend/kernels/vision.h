/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the image ops (trivet/ops/ops_vision.h), offered by a backend through
 * tv_backend.extension. The SDK composes these ops from copy and matmul where a backend has none.
 * Images are NHWC, filters [KH, KW, Cin, Cout]. */
#ifndef TRIVET_BACKEND_KERNELS_VISION_H
#define TRIVET_BACKEND_KERNELS_VISION_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TV_CONV2D_FWD "conv2d_fwd/1"
#define TV_CONV2D_BWD "conv2d_bwd/1"
#define TV_POOL2D_FWD "pool2d_fwd/1"
#define TV_POOL2D_BWD "pool2d_bwd/1"

typedef struct tv_conv2d_shape {
  int64_t batch, in_h, in_w, in_c;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top,
      pad_left; /* zeros outside the image; bottom and right follow from out_h and out_w */
  int64_t out_h, out_w, out_c;
} tv_conv2d_shape;

/* y = act(conv(x, w) + b). b may be null; `pre` as in tv_linear. */
typedef struct tv_conv2d {
  uint32_t struct_size;
  uint8_t dtype, activation;
  tv_conv2d_shape shape;
  const void *x, *w, *b;
  void *y, *pre;
} tv_conv2d;

/* dz [like y] is workspace and may be dy. dx, dw, db may be null; dw and db are accumulated with
 * their betas (0 or 1). */
typedef struct tv_conv2d_grad {
  uint32_t struct_size;
  uint8_t dtype, activation;
  tv_conv2d_shape shape;
  const void *x, *w, *saved, *dy;
  void *dz, *dx, *dw, *db;
  float beta_dw, beta_db;
} tv_conv2d_grad;

typedef enum tv_pool_kind { TV_POOL_MAX = 0, TV_POOL_AVG = 1 } tv_pool_kind;

/* Maximum or mean over windows; padding never takes part (the mean divides by the number of pixels
 * inside the image). argmax u8 [like y] receives, for TV_POOL_MAX, the offset kh * kernel_w + kw of
 * the first largest element; it is null when no gradient is wanted. shape.out_c = shape.in_c;
 * kernel_h * kernel_w <= 256. */
typedef struct tv_pool2d {
  uint32_t struct_size;
  uint8_t dtype, kind;
  tv_conv2d_shape shape;
  const void* x;
  void* y;
  uint8_t* argmax;
} tv_pool2d;

/* dx is overwritten. */
typedef struct tv_pool2d_grad {
  uint32_t struct_size;
  uint8_t dtype, kind;
  tv_conv2d_shape shape;
  const void* dy;
  const uint8_t* argmax;
  void* dx;
} tv_pool2d_grad;

typedef tv_status (*tv_conv2d_fwd_fn)(tv_ctx*, const tv_conv2d*);
typedef tv_status (*tv_conv2d_bwd_fn)(tv_ctx*, const tv_conv2d_grad*);
typedef tv_status (*tv_pool2d_fwd_fn)(tv_ctx*, const tv_pool2d*);
typedef tv_status (*tv_pool2d_bwd_fn)(tv_ctx*, const tv_pool2d_grad*);

/* X(ID, FUNCTION, ARGUMENTS) for each kernel of this file, e.g. TV_CONV2D_FWD, conv2d_fwd,
 * tv_conv2d. */
#define TV_FOR_EACH_VISION_KERNEL(X)           \
  X(TV_CONV2D_FWD, conv2d_fwd, tv_conv2d)      \
  X(TV_CONV2D_BWD, conv2d_bwd, tv_conv2d_grad) \
  X(TV_POOL2D_FWD, pool2d_fwd, tv_pool2d)      \
  X(TV_POOL2D_BWD, pool2d_bwd, tv_pool2d_grad)

#ifdef __cplusplus
}
#endif
#endif
