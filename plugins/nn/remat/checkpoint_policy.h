// SPDX-License-Identifier: Apache-2.0
// Which activations of a stack's layers are kept for their gradients, in training; the rest is
// computed again (trivet/layer/remat.h). The names are those of Praxis' AutodiffCheckpointType.
//
// A policy "save_dot.." with a list of names keeps results by name (trivet/ops/remat_keeps.h).
// Praxis' combined_qkv_proj is one product for queries, keys and values. Here it is three, which
// are kept instead. save_quantized names operands of quantized products, too, and the policies of
// a U-Net name convolutions: no shipped layer has these names.
#pragma once

#include "trivet/config.h"
#include "trivet/layer.h"
#include "trivet/ops/remat_keeps.h"

namespace trivet::nn {

enum class CheckpointPolicy {
  save_everything,
  save_nothing,  // only the layer's input
  save_dot_only,
  save_dot_with_no_batch_dims,
  offload_dot_with_no_batch_dims,  // on the host
  save_qkv_out_proj,
  save_qkv_out_proj_separate,
  save_out_proj,
  save_context,
  save_encoded_and_out_proj,
  save_dot_for_mlperf_200b,
  save_dot_except_logits,
  save_dot_except_logits_ffn1,
  save_quantized,
  save_iteration_input,
  save_transformer_layer_output,
  save_unet_conv,
  save_unet_all_conv,
};
TRIVET_ENUM(CheckpointPolicy, save_everything, save_nothing, save_dot_only,
            save_dot_with_no_batch_dims, offload_dot_with_no_batch_dims, save_qkv_out_proj,
            save_qkv_out_proj_separate, save_out_proj, save_context, save_encoded_and_out_proj,
            save_dot_for_mlperf_200b, save_dot_except_logits, save_dot_except_logits_ffn1,
            save_quantized, save_iteration_input, save_transformer_layer_output, save_unet_conv,
            save_unet_all_conv)

// For any policy but save_everything, which needs no rematerialization.
RematKeeps kept_by(CheckpointPolicy policy);

// layer.fprop(x, context), whose products have the checkpoint name.
Tensor named_fprop(std::string_view name, Layer& layer, const Tensor& x, FpropContext& context);

}  // namespace trivet::nn
