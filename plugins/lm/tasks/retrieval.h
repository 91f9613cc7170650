// SPDX-License-Identifier: Apache-2.0
// Retrieval: learns embeddings under which a text finds the one that belongs to it among all of its
// batch (Model Garden's dual_encoder; Gillick et al. 2018). Its model is lm/DualEncoder, its input
// data/TextPairs. With l_i and r_j the embeddings of a batch,
//
//   s_ij = logit_scale (l_i . r_j - margin [i = j])
//   loss = mean_i -log(exp(s_ii) / sum_j exp(s_ij))
//
// plus the same over the columns with `bidirectional`. Rows of weight 0 are neither asked nor
// found. With gradient accumulation each part is a batch of its own, with fewer texts to confuse.
//
// Metrics: left_recall_at_K, with `bidirectional` also right_recall_at_K (retrieval_recall.h), of
// products without the margin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lm/tasks/text_task.h"
#include "trivet/extensions/predictor.h"

namespace trivet::lm {

struct RetrievalConfig : TextTaskConfig {
  double logit_scale = 1;
  double margin = 0;
  bool bidirectional = false;
  std::vector<std::int64_t> recall_at = {1, 3, 10};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    RetrievalConfig, TextTaskConfig,
    (logit_scale, "Factor of the products in the loss: 20 to 100 for embeddings of length 1.",
     more_than(0), adjustable),
    (margin, "How much smaller the product of a pair is in the loss.", at_least(0), adjustable),
    (bidirectional, "Adds the loss of finding the left text from the right one.", adjustable),
    (recall_at,
     "Numbers of texts among which the right one is to be; from the size of a batch on the recall "
     "is "
     "1.",
     adjustable))

class Retrieval final : public TextTask, public Predictor {
 public:
  using Config = RetrievalConfig;
  Retrieval(const Config& config, TaskContext& context);

  // Throws ConfigError for training batches of one pair: there is no other to compare it with.
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  Range expected_initial_loss() const override;
  const void* extension(std::string_view id) const noexcept override;
  // For a pair "score", the product of its embeddings, and "rank", from 1, of the right text in its
  // batch; for a text alone its "embedding".
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::vector<std::string> row_prefixes() const override { return {"left/", "right/"}; }

 private:
  float logit_scale_, margin_;
  bool bidirectional_;
  std::vector<std::int64_t> recall_at_;
};

}  // namespace trivet::lm
