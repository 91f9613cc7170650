// SPDX-License-Identifier: Apache-2.0
// The outputs of a model that predicts a token at each position.
#pragma once

#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

// For h [B, T, D] and a batch with labels (the field `labels`) and "weights": "avg_xent",
// "total_weight", "per_example_xent" [B, T] and, outside training, "per_example_argmax" i32 [B, T].
// For a batch without labels: "logits" [B, T, classes].
NestedMap token_losses(SoftmaxHead& head, const Tensor& h, const Batch& batch,
                       FpropContext& context, const char* labels = "labels");

}  // namespace trivet::lm
