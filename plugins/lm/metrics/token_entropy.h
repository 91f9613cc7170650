// SPDX-License-Identifier: Apache-2.0
// The entropy of a softmax's predictions, for a loss.
#pragma once

#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

// For h [B, T, D] and weights [B, T], the negative entropy of the predictions, as a mean:
//
//   sum(weight * sum_c p_c log p_c) / sum(weight), p = softmax(logits), in nats; 0 without weights
//
// A scalar with a gradient to h and to the head's weights. The logits of all rows never exist at
// once: they are computed again, in chunks, for the gradient. `head` must outlive the tape.
Tensor negative_entropy(SoftmaxHead& head, const Tensor& h, const Tensor& weights);

}  // namespace trivet::lm
