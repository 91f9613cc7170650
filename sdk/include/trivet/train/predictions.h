// SPDX-License-Identifier: Apache-2.0
// Predictions: what a classifier said about the examples of one batch, on the host: logits [B,
// classes], labels i32 [B] or f32 [B, classes] (class_loss.h) and weights [B] (1 everywhere where
// the batch has none). The values that metrics of classifiers use.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/ops/host_array.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

class TRIVET_API Predictions {
 public:
  // Of the outputs' "logits" and the batch's "label" and "weight". Throws Error when "logits" or
  // "label" are missing, or the shapes do not fit. [run-thread]
  Predictions(const Batch& batch, const NestedMap& outputs);

  std::int64_t examples() const { return examples_; }
  std::int64_t classes() const { return classes_; }
  // The class; of a label f32 [B, classes] the first one with the largest share.
  std::int32_t label(std::int64_t example) const {
    return labels_[static_cast<std::size_t>(example)];
  }
  // The share of class c in the label: 1 or 0 where the label is a number.
  float share(std::int64_t example, std::int64_t c) const {
    if (!shares_) return label(example) == c ? 1.0F : 0.0F;
    return (*shares_)[example * classes_ + c];
  }
  float weight(std::int64_t example) const { return weights_ ? (*weights_)[example] : 1.0F; }
  float logit(std::int64_t example, std::int64_t c) const { return row(example)[c]; }

  // The first class with the largest logit; those that are not numbers count only where all are.
  std::int64_t predicted(std::int64_t example) const;
  // How many classes come before the label, by logit, then by number: 0 is a hit. As many as there
  // are classes where the label's logit is not a number.
  std::int64_t rank_of_label(std::int64_t example) const;

 private:
  const float* row(std::int64_t example) const { return logits_.data() + example * classes_; }

  std::int64_t examples_, classes_;
  HostArray<float> logits_;
  std::vector<std::int32_t> labels_;
  std::optional<HostArray<float>> shares_;
  std::optional<HostArray<float>> weights_;
};

// The sum of a batch's "weight", or its number of examples where it has none: what a task's loss is
// the mean over. Throws Error for a batch without "weight" and "label".
TRIVET_API double sum_of_weights(const Batch& batch);

}  // namespace trivet
