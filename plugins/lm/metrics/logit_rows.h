// SPDX-License-Identifier: Apache-2.0
// Numbers of each row's logits that have gradients, without the logits of all rows at once.
#pragma once

#include <cstdint>
#include <functional>

#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

// Of the logits [n, classes] of the rows begin to begin + n: [n]. Called twice for each chunk of
// rows, also in the backward pass.
using OfLogits = std::function<Tensor(const Tensor& logits, std::int64_t begin)>;

// For h [.., D] with R rows: [R]. The logits are computed again, in chunks, for the gradients.
// `head` must outlive the tape.
Tensor of_logit_rows(SoftmaxHead& head, const Tensor& h, const OfLogits& of_logits);

// log softmax(logits)[label] for each position of h [.., D], in the shape of labels i32 [..]; 0 for
// a negative label. Unlike SoftmaxLoss::per_example_xent it has a gradient, and neither label
// smoothing nor z-loss in training.
Tensor label_log_probabilities(SoftmaxHead& head, const Tensor& h, const Tensor& labels);

}  // namespace trivet::lm
