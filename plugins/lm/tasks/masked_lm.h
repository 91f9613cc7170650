// SPDX-License-Identifier: Apache-2.0
// MaskedLm: a model learns to predict masked tokens from all others, by the mean cross entropy over
// the tokens whose "weights" are not 0 (Model Garden's masked_lm, Praxis' BertModel as a task). Its
// input is data/MaskedLanguageModel.
//
// Metrics: log_pplx (mean of -ln p of the masked tokens), masked_lm_accuracy, num_predictions.
#pragma once

#include "lm/tasks/text_task.h"

namespace trivet::lm {

struct MaskedLmConfig : TokenTaskConfig {};
TRIVET_CONFIG(MaskedLmConfig, TokenTaskConfig)

class MaskedLm final : public TextTask {
 public:
  using Config = MaskedLmConfig;
  MaskedLm(const Config& config, TaskContext& context) : TextTask(config, context) {}

  Metrics build_metrics(Phase phase) override;
};

}  // namespace trivet::lm
