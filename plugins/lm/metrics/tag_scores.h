// SPDX-License-Identifier: Apache-2.0
// TagScores: scores a tagger's "per_example_argmax" i32 [B, T] against "tags" i32 [B, T], over
// positions whose "weights" are not 0:
//
//   accuracy                share of correct tags
//   precision, recall, f1   of entities, correct if both span and type are (seqeval, Model
//                           Garden's tagging), if the tags' names mark entities (entities.h)
//   macro_f1                the mean of each tag's f1, for other tags such as parts of speech
//
// Each row is a separate sequence. Outputs without "per_example_argmax", such as those of training
// steps, are ignored. Without any other outputs there are no scores.
#pragma once

#include <string>
#include <vector>

#include "lm/metrics/class_counts.h"
#include "trivet/metric.h"

namespace trivet::lm {

class TagScores final : public Metric {
 public:
  explicit TagScores(std::vector<std::string> names);

  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  void add_entities(const std::vector<std::string_view>& truth,
                    const std::vector<std::string_view>& told);

  std::vector<std::string> names_;
  bool mark_entities_;
  ClassCounts counts_;
  bool any_ = false;
  double right_ = 0, told_ = 0, true_ = 0;  // entities: right, predicted, true
};

}  // namespace trivet::lm
