// SPDX-License-Identifier: Apache-2.0
// The losses of classifiers: from logits f32 [B, C] and the batch's "label", which is
//
//   i32 [B]      the number of the class
//   f32 [B, C]   soft labels, the share p of each class in the target; or of several labels, 1 where
//                one applies and 0 where not
//
//   softmax   l = -sum_c p_c log softmax(x)_c, p = (1 - s) p + s / C with label smoothing s
//             (Szegedy 2016)
//   sigmoid   l = mean_c (softplus(x_c) - p_c x_c), p = (1 - s) p + s / 2: a binary cross entropy
//             for each class (Keras' BinaryCrossentropy(from_logits=True))
//   bi_tempered  with q = tempered_softmax(x) of t2 (trivet/ops/tempered_softmax.h), p as in
//             softmax, and log_t(u) = (u^(1-t) - 1) / (1 - t), log_1 = log:
//             l = sum_c (p_c (log_t1 p_c - log_t1 q_c) - (p_c^(2-t1) - q_c^(2-t1)) / (2 - t1))
//             (Amid et al. 2019, equation 4): at most a bound, however wrong a label is; t1 = t2 =
//             1 is softmax less the entropy of p
//
// The loss is the mean by the examples' weights. A class weight v_c multiplies the weight of an
// example by sum_c v_c p_c, so that for numbered classes the loss is PyTorch's
// CrossEntropyLoss(weight=v); with several labels it multiplies the term of the label, as PyTorch's
// BCEWithLogitsLoss(weight=v).
#pragma once

#include <cstdint>
#include <span>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/task.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

enum class ClassLoss : std::uint8_t {
  softmax,      // one class is right
  sigmoid,      // each class is right or wrong by itself
  bi_tempered,  // one class is right, and some labels are wrong
};
TRIVET_ENUM(ClassLoss, softmax, sigmoid, bi_tempered)

struct ClassLossOptions {
  ClassLoss loss = ClassLoss::softmax;
  bool multi_label = false;  // several classes may be right; needs sigmoid and labels [B, C]
  float label_smoothing = 0;
  std::span<const double> class_weights{};  // one for each class; empty: 1
  double t1 = 1, t2 = 1;  // temperatures of bi_tempered; t1 in [0, 1], t2 at least 1
};

// The mean loss of the batch, and the sum of its weights ("weight" f32 [B], 1 each where the batch
// has none, times the class weights). Throws Error, naming `owner`, for shapes or labels that do
// not fit. [run-thread]
TRIVET_API WeightedScalar class_loss(const Batch& batch, const Tensor& logits,
                                     const ClassLossOptions& options, std::string_view owner);

}  // namespace trivet
