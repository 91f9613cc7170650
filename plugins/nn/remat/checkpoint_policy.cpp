// SPDX-License-Identifier: Apache-2.0
#include "nn/remat/checkpoint_policy.h"

namespace trivet::nn {

RematKeeps kept_by(CheckpointPolicy policy) {
  switch (policy) {
    case CheckpointPolicy::save_everything:
    case CheckpointPolicy::save_nothing:
      return {};
    case CheckpointPolicy::save_dot_only:
      return {.products = RematProducts::all};
    case CheckpointPolicy::save_dot_with_no_batch_dims:
      return {.products = RematProducts::without_batch};
    case CheckpointPolicy::offload_dot_with_no_batch_dims:
      return {.products = RematProducts::without_batch, .memory = RematMemory::host};
    case CheckpointPolicy::save_qkv_out_proj:
    case CheckpointPolicy::save_qkv_out_proj_separate:
      return {.names = {"query_proj", "key_proj", "value_proj", "out_proj"}};
    case CheckpointPolicy::save_out_proj:
      return {.names = {"out_proj"}};
    case CheckpointPolicy::save_context:
      return {.names = {"context"}};
    case CheckpointPolicy::save_encoded_and_out_proj:
      return {.names = {"context", "out_proj"}};
    case CheckpointPolicy::save_dot_for_mlperf_200b:
      return {.names = {"query_proj", "key_proj", "value_proj", "context", "out_proj"}};
    case CheckpointPolicy::save_dot_except_logits:
      return {
          .names = {"query_proj", "key_proj", "value_proj", "context", "out_proj", "ffn1", "ffn2"}};
    case CheckpointPolicy::save_dot_except_logits_ffn1:
      return {.names = {"query_proj", "key_proj", "value_proj", "context", "out_proj", "ffn2"}};
    case CheckpointPolicy::save_quantized:
      return {.names = {"query_proj", "key_proj", "value_proj", "context", "out_proj", "qlhs",
                        "qrhs", "lhs_scale", "rhs_scale"}};
    case CheckpointPolicy::save_iteration_input:
      return {.names = {"iteration_input"}};
    case CheckpointPolicy::save_transformer_layer_output:
      return {.names = {"transformer_layer_out"}};
    case CheckpointPolicy::save_unet_conv:
      return {.names = {"conv_out"}};
    case CheckpointPolicy::save_unet_all_conv:
      return {.names = {"conv_0", "conv_1", "conv_out"}};
  }
  return {};
}

Tensor named_fprop(std::string_view name, Layer& layer, const Tensor& x, FpropContext& context) {
  const CheckpointName named(name);
  return layer.fprop(x, context);
}

}  // namespace trivet::nn
