// SPDX-License-Identifier: Apache-2.0
// ReplacedTokenDetection: pretrains an encoder to tell which tokens of a text a generator replaced
// (Clark et al. 2020, "ELECTRA"; Model Garden's electra). Its model is lm/Electra, its input
// data/MaskedLanguageModel with mask_share = 1 and random_share = 0 as in the paper. The loss is
// that of lm/MaskedLm for the generator plus discriminator_weight times that of the discriminator.
//
// Metrics: those of lm/MaskedLm for the generator; loss/avg_xent and loss/discriminator_loss;
// discriminator_accuracy and replaced_tokens.
#pragma once

#include "lm/tasks/masked_lm.h"

namespace trivet::lm {

struct ReplacedTokenDetectionConfig : TextTaskConfig {
  double discriminator_weight = 50;
};
TRIVET_CONFIG(ReplacedTokenDetectionConfig, TextTaskConfig,
              (discriminator_weight, "Factor of the discriminator's loss in the sum.",
               more_than(0)))

class ReplacedTokenDetection final : public MaskedLm {
 public:
  using Config = ReplacedTokenDetectionConfig;
  ReplacedTokenDetection(const Config& config, TaskContext& context)
      : MaskedLm(config, context,
                 {{.name = "avg_xent"},
                  {.name = "discriminator_loss", .weight = config.discriminator_weight}}) {}

  Metrics build_metrics(Phase phase) override;
  // That of the generator, and ln 2 for each token of the discriminator.
  Range expected_initial_loss() const override;

 private:
  double discriminator_weight() const { return loss_terms().back().weight; }
};

}  // namespace trivet::lm
