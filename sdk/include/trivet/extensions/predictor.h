// SPDX-License-Identifier: Apache-2.0
// What a task predicts for each example, in words for people: what `trivet predict`, programs that
// infer, and evaluations with outputs write, one JSON object an example. The task derives from
// Predictor, too.
//
// Example (sdk/examples/snippets/task_extensions.cpp#predictor):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kTaskPredictor ? static_cast<const Predictor*>(this) : nullptr;
//   }
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

// Id for Task::extension; what it returns points to a Predictor.
inline constexpr std::string_view kTaskPredictor = "trivet.task.predictor/1";

class Predictor {
 public:
  // One table for each row of the batch: the columns of the prediction, such as {"class": "cat",
  // "probability": 0.93}, in the order that people see them in; null for a row of weight 0,
  // and for a row of an example of several rows whose table is in a later one. `outputs` are those
  // of Task::inference_step or of Task::validation_step. The batch need not have labels.
  // [run-thread]
  virtual std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const = 0;

 protected:
  ~Predictor() = default;
};

// The columns of one example's class: "class", the one with the largest logit (the first of equal
// ones), its "probability", and "probabilities" of all by name: the softmax of the logits. Without
// names a class is its number. Throws Error for another number of names than logits.
TRIVET_API Value class_columns(std::span<const float> logits, std::span<const std::string> names);
// The same for each row of logits f32 [B, classes]; null where the batch's "weight" is 0.
TRIVET_API std::vector<Value> class_predictions(const Batch& batch, const Tensor& logits,
                                                std::span<const std::string> names);
// Where several classes may be right, for each row of logits f32 [B, classes]: "classes", those
// whose probability is at least 0.5, and "probabilities" of all by name: the sigmoids of the
// logits.
TRIVET_API std::vector<Value> label_predictions(const Batch& batch, const Tensor& logits,
                                                std::span<const std::string> names);
// A column with the number of each row of `values` f32 [B] or [B, 1]; null where the batch's
// "weight" is 0.
TRIVET_API std::vector<Value> number_predictions(const Batch& batch, const Tensor& values,
                                                 std::string_view column);

}  // namespace trivet
