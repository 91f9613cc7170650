// SPDX-License-Identifier: Apache-2.0
// The functions of the table and the kernels outside it, each in a file of kernels/.
#pragma once

#include <type_traits>

#include <trivet/backend/backend.h>
#include <trivet/backend/kernels/all.h>
#include <trivet/backend/kernels/peak.h>

namespace cpu {

#define TRIVET_DECLARE(kernel) std::remove_pointer_t<decltype(tv_backend::kernel)> kernel;
TV_FOR_EACH_KERNEL(TRIVET_DECLARE)
#undef TRIVET_DECLARE

// ../convolution/conv2d.cpp
tv_status conv2d_fwd(tv_ctx*, const tv_conv2d*);
tv_status conv2d_bwd(tv_ctx*, const tv_conv2d_grad*);

// batch_norm.cpp
tv_status batch_norm_fwd(tv_ctx*, const tv_batch_norm*);
tv_status batch_norm_bwd(tv_ctx*, const tv_batch_norm_grad*);

// pool.cpp
tv_status pool2d_fwd(tv_ctx*, const tv_pool2d*);
tv_status pool2d_bwd(tv_ctx*, const tv_pool2d_grad*);

// ../recurrent/lstm.cpp
tv_status lstm_fwd(tv_ctx*, const tv_lstm*);
tv_status lstm_bwd(tv_ctx*, const tv_lstm_grad*);

// ../recurrent/gru.cpp
tv_status gru_fwd(tv_ctx*, const tv_gru*);
tv_status gru_bwd(tv_ctx*, const tv_gru_grad*);

// peak.cpp
tv_status peak_flops(tv_ctx*, tv_peak_flops*);
tv_status peak_bandwidth(tv_ctx*, tv_peak_bandwidth*);

}  // namespace cpu
