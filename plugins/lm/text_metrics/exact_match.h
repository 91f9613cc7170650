// SPDX-License-Identifier: Apache-2.0
// ExactMatch and TokenF1: the scores of SQuAD's official script (Rajpurkar et al. 2018,
// evaluate-v2.0.py, compute_exact and compute_f1), as shares of 1: of answers, and of other texts.
#pragma once

#include "lm/text_metrics/mean_score.h"

namespace trivet::lm {

struct ExactMatchConfig : TextMetricConfig {
  bool normalize = false;
};
TRIVET_CONFIG(ExactMatchConfig, trivet::TextMetricConfig,
              (normalize,
               "Compares words as SQuAD does: without case, ASCII punctuation and articles. If "
               "false, all bytes."))

// The share of texts that equal one of their references: "exact_match".
class ExactMatch final : public MeanScore {
 public:
  using Config = ExactMatchConfig;
  explicit ExactMatch(const Config& config);

 private:
  double score(std::string_view decoded, std::string_view reference) const override;

  bool normalize_;
};

struct TokenF1Config : TextMetricConfig {};
TRIVET_CONFIG(TokenF1Config, trivet::TextMetricConfig)

// The mean F-measure of the words that a text and its reference share, normalized as SQuAD does:
// "token_f1". Where one of the two has no words, 1 if both have none, else 0.
class TokenF1 final : public MeanScore {
 public:
  using Config = TokenF1Config;
  explicit TokenF1(const Config& config) : MeanScore(config, "token_f1") {}

 private:
  double score(std::string_view decoded, std::string_view reference) const override;
};

}  // namespace trivet::lm
