// SPDX-License-Identifier: Apache-2.0
// RougeL: the mean F-measure of the longest common subsequence of words (Lin 2004), as the package
// rouge_score computes "rougeL" without its stemmer: words are runs of the letters a to z and
// digits after lower case. Named "rouge_l", a share of 1; of several references the best counts.
#pragma once

#include "lm/text_metrics/mean_score.h"

namespace trivet::lm {

struct RougeLConfig : TextMetricConfig {};
TRIVET_CONFIG(RougeLConfig, trivet::TextMetricConfig)

class RougeL final : public MeanScore {
 public:
  using Config = RougeLConfig;
  explicit RougeL(const Config& config) : MeanScore(config, "rouge_l") {}

 private:
  double score(std::string_view decoded, std::string_view reference) const override;
};

}  // namespace trivet::lm
