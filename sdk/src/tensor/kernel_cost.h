// SPDX-License-Identifier: Apache-2.0
// What a kernel computes and moves, from its arguments: floating-point operations, and the bytes of
// its operands, each once.
#pragma once

#include "trivet/backend/backend.h"
#include "trivet/backend/kernels/all.h"

namespace trivet::detail {

struct KernelCost {
  double flops = 0, bytes = 0;
};

KernelCost cost_of(const tv_matmul& args);
KernelCost cost_of(const tv_linear& args);
KernelCost cost_of(const tv_linear_grad& args);
KernelCost cost_of(const tv_norm& args);
KernelCost cost_of(const tv_norm_grad& args);
KernelCost cost_of(const tv_attention& args);
KernelCost cost_of(const tv_attention_grad& args);
KernelCost cost_of(const tv_rope& args);
KernelCost cost_of(const tv_softmax_xent& args);
KernelCost cost_of(const tv_linear_xent& args);
KernelCost cost_of(const tv_dropout& args);
KernelCost cost_of(const tv_optim& args);
KernelCost cost_of(const tv_conv2d& args);
KernelCost cost_of(const tv_conv2d_grad& args);
KernelCost cost_of(const tv_pool2d& args);
KernelCost cost_of(const tv_pool2d_grad& args);
KernelCost cost_of(const tv_batch_norm& args);
KernelCost cost_of(const tv_batch_norm_grad& args);
KernelCost cost_of(const tv_lstm& args);
KernelCost cost_of(const tv_lstm_grad& args);
KernelCost cost_of(const tv_gru& args);
KernelCost cost_of(const tv_gru_grad& args);
// One operation for each element.
KernelCost cost_of(const tv_view& view);

}  // namespace trivet::detail
