// SPDX-License-Identifier: Apache-2.0
#include "lm/text_metrics/exact_match.h"

#include <string>
#include <vector>

#include "lm/text_metrics/words.h"

namespace trivet::lm {

ExactMatch::ExactMatch(const Config& config)
    : MeanScore(config, "exact_match"), normalize_(config.normalize) {}

double ExactMatch::score(std::string_view decoded, std::string_view reference) const {
  const bool equal =
      normalize_ ? squad_words(decoded) == squad_words(reference) : decoded == reference;
  return equal ? 1 : 0;
}

double TokenF1::score(std::string_view decoded, std::string_view reference) const {
  const std::vector<std::string> told = squad_words(decoded), truth = squad_words(reference);
  if (told.empty() || truth.empty()) return told.empty() && truth.empty() ? 1 : 0;
  return f_measure(shared_words(told, truth), told.size(), truth.size());
}

}  // namespace trivet::lm
