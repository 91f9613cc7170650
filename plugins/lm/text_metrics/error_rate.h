// SPDX-License-Identifier: Apache-2.0
// ErrorRate: the word error rate of speech recognition: over all examples, the insertions,
// deletions and substitutions that turn the references into the texts, by the words of the
// references. Named "wer", or "cer" for characters. It may exceed 1. Of several references the one
// with the fewest errors counts, the first of equal ones.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/text_metric.h"

namespace trivet::lm {

enum class ErrorUnit { word, character };
TRIVET_ENUM(ErrorUnit, word, character)

struct ErrorRateConfig : TextMetricConfig {
  ErrorUnit unit = ErrorUnit::word;
};
TRIVET_CONFIG(
    ErrorRateConfig, trivet::TextMetricConfig,
    (unit,
     "Parts that are compared: words between white space, or characters without white space."))

class ErrorRate final : public TextMetric {
 public:
  using Config = ErrorRateConfig;
  explicit ErrorRate(const Config& config);

  void add(std::string_view decoded, std::span<const std::string> references) override;
  // Without a word in any reference: 0 if nothing was written, else 1.
  Logs result() const override;
  void reset_state() override { errors_ = length_ = 0; }
  Value save_state() const override;
  void merge(const Value& state) override;

 private:
  std::string name_;
  ErrorUnit unit_;
  std::int64_t errors_ = 0, length_ = 0;
};

}  // namespace trivet::lm
