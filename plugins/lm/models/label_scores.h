// SPDX-License-Identifier: Apache-2.0
// How tasks of this plugin ask a model for the log probabilities of a batch's labels, with
// gradients. The model derives from LabelScores, too.
#pragma once

#include <string_view>

#include "trivet/layer.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::lm {

// Id for Model::extension; what it returns points to a LabelScores.
inline constexpr std::string_view kModelLabelScores = "lm.model.label_scores/1";

class LabelScores {
 public:
  // log p(label) of each position, f32 [B, T], of a batch with "ids" and "labels" [B, T] and the
  // other fields that the model reads; without what the model's loss adds to it. On the tape, which
  // the model must outlive. [run-thread]
  virtual Tensor label_log_probabilities(const Batch& batch, FpropContext& context) = 0;

 protected:
  ~LabelScores() = default;
};

// Null for a model that has none.
template <class Model>
LabelScores* label_scores(Model& model) {
  return static_cast<LabelScores*>(const_cast<void*>(model.extension(kModelLabelScores)));
}

}  // namespace trivet::lm
