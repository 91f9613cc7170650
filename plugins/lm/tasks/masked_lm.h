// SPDX-License-Identifier: Apache-2.0
// MaskedLm: a model learns to predict masked tokens from all others, by the mean cross entropy over
// the tokens whose "weights" are not 0 (Model Garden's masked_lm, Praxis' BertModel as a task). Its
// input is data/MaskedLanguageModel.
//
// With the next-sentence head of lm/Bert the loss is avg_xent + next_sentence_loss, each a mean of
// its own, unless `losses` says otherwise.
//
// Metrics: log_pplx (mean of -ln p of the masked tokens), masked_lm_accuracy, num_predictions; with
// the head also those of next_sentence_scores.h, loss/avg_xent and loss/next_sentence_loss.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lm/tasks/text_task.h"
#include "trivet/extensions/predictor.h"

namespace trivet::lm {

struct MaskedLmConfig : TokenTaskConfig {};
TRIVET_CONFIG(MaskedLmConfig, TokenTaskConfig)

class MaskedLm : public TextTask, public Predictor {
 public:
  using Config = MaskedLmConfig;
  MaskedLm(const Config& config, TaskContext& context);

  Metrics build_metrics(Phase phase) override;
  // That of the tokens, and ln 2 for the next sentence.
  Range expected_initial_loss() const override;
  const void* extension(std::string_view id) const noexcept override;
  // "tokens": the likeliest token at each position whose weight is not 0, in order; "text": the row
  // with these tokens. Of a batch without labels also "probabilities", those of the tokens.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  MaskedLm(const TextTaskConfig& config, TaskContext& context, std::vector<LossTerm> losses)
      : TextTask(config, context, std::move(losses)) {}

 private:
  std::string token_text(std::int32_t id) const;

  bool next_sentence_ = false;  // the model has that head
};

}  // namespace trivet::lm
