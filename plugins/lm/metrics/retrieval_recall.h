// SPDX-License-Identifier: Apache-2.0
// RetrievalRecall: how often the text that belongs to a text is among the k of the batch whose
// embeddings have the largest scalar products with its own: "left_recall_at_K" for the left texts,
// and "right_recall_at_K" for the right ones where asked for (Model Garden's dual_encoder). Of
// equal products that of the right text counts as the smallest. A larger batch makes it harder.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/metric.h"

namespace trivet::lm {

// The rank, from 0, of b[i] among the rows of `b` by the product with a[i], for each i with a
// weight; -1 for others. a, b f32 [B, D]; weights [B], of which those of 0 are no candidates.
std::vector<std::int64_t> ranks_of_pairs(const Tensor& a, const Tensor& b,
                                         const std::vector<float>& weights);

class RetrievalRecall final : public Metric {
 public:
  enum class Sides { left, both };
  // `ks` as in "recall at k".
  RetrievalRecall(std::vector<std::int64_t> ks, Sides sides);

  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  struct Counts {
    const char* name;
    std::vector<double> hits;  // one per k
  };
  void count(Counts& counts, const std::vector<std::int64_t>& ranks) const;
  void add(const Value& state);

  std::vector<std::int64_t> ks_;
  std::vector<Counts> sides_;
  double pairs_ = 0;
};

}  // namespace trivet::lm
