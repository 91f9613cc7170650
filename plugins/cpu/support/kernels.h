// SPDX-License-Identifier: Apache-2.0
// The kernels of the table, by file.
#pragma once

#include <trivet/backend/backend.h>
#include <trivet/backend/kernels/norm.h>
#include <trivet/backend/kernels/vision.h>

namespace cpu {

// copy.cpp
tv_status fill(tv_ctx*, const tv_view* dst, double value);
tv_status copy(tv_ctx*, const tv_view* dst, const tv_view* src);

// elementwise.cpp
tv_status unary(tv_ctx*, tv_unary_op, const tv_view* out, const tv_view* x);
tv_status binary(tv_ctx*, tv_binary_op, const tv_view* out, const tv_view* a, const tv_view* b);
tv_status select(tv_ctx*, const tv_view* out, const tv_view* cond, const tv_view* a,
                 const tv_view* b);

// reduce.cpp
tv_status reduce(tv_ctx*, tv_reduce_op, const tv_view* out, const tv_view* x);
tv_status sumsq(tv_ctx*, const tv_view* out, const tv_view* x);

// rows.cpp
tv_status gather_rows(tv_ctx*, const tv_view* out, const tv_view* table, const tv_view* idx);
tv_status scatter_add_rows(tv_ctx*, const tv_view* table, const tv_view* idx, const tv_view* src);

// matmul.cpp
tv_status matmul(tv_ctx*, const tv_matmul*);

// linear.cpp
tv_status linear_fwd(tv_ctx*, const tv_linear*);
tv_status linear_bwd(tv_ctx*, const tv_linear_grad*);

// activation.cpp
tv_status act_fwd(tv_ctx*, tv_activation, const tv_view* y, const tv_view* x);
tv_status act_bwd(tv_ctx*, tv_activation, const tv_view* dx, const tv_view* saved,
                  const tv_view* dy);

// attention.cpp
tv_status attention_fwd(tv_ctx*, const tv_attention*);
tv_status attention_bwd(tv_ctx*, const tv_attention_grad*);

// rope.cpp
tv_status rope(tv_ctx*, const tv_rope*);

// softmax.cpp
tv_status softmax_xent(tv_ctx*, const tv_softmax_xent*);

// linear_xent.cpp
tv_status linear_xent(tv_ctx*, const tv_linear_xent*);

// optim.cpp
tv_status optim(tv_ctx*, const tv_optim*);

// random.cpp
tv_status rng_bits(tv_ctx*, const tv_view* out, std::uint64_t key, std::uint64_t offset);
tv_status dropout(tv_ctx*, const tv_dropout*);

// conv.cpp
tv_status conv2d_fwd(tv_ctx*, const tv_conv2d*);
tv_status conv2d_bwd(tv_ctx*, const tv_conv2d_grad*);

// norm.cpp
tv_status norm_fwd(tv_ctx*, const tv_norm*);
tv_status norm_bwd(tv_ctx*, const tv_norm_grad*);

// batch_norm.cpp
tv_status batch_norm_fwd(tv_ctx*, const tv_batch_norm*);
tv_status batch_norm_bwd(tv_ctx*, const tv_batch_norm_grad*);

// pool.cpp
tv_status pool2d_fwd(tv_ctx*, const tv_pool2d*);
tv_status pool2d_bwd(tv_ctx*, const tv_pool2d_grad*);

}  // namespace cpu
