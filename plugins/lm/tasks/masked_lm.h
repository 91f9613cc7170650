// SPDX-License-Identifier: Apache-2.0
// MaskedLm: a model learns to predict masked tokens from all others, by the mean cross entropy over
// the tokens whose "weights" are not 0 (Model Garden's masked_lm, Praxis' BertModel as a task). Its
// input is data/MaskedLanguageModel.
//
// Metrics: log_pplx (mean of -ln p of the masked tokens), masked_lm_accuracy, num_predictions.
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
  MaskedLm(const Config& config, TaskContext& context) : TextTask(config, context) {}

  Metrics build_metrics(Phase phase) override;
  const void* extension(std::string_view id) const noexcept override;
  // "tokens": the likeliest token at each position whose weight is not 0, in order; "text": the row
  // with these tokens. Of a batch without labels also "probabilities", those of the tokens.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  MaskedLm(const TextTaskConfig& config, TaskContext& context, std::vector<LossTerm> losses)
      : TextTask(config, context, std::move(losses)) {}

 private:
  std::string token_text(std::int32_t id) const;
};

}  // namespace trivet::lm
