// SPDX-License-Identifier: Apache-2.0
// MeanScore: the base of text metrics that are a mean over examples of the best score against one
// of the references. 0 before the first example.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trivet/text_metric.h"

namespace trivet::lm {

class MeanScore : public TextMetric {
 public:
  void add(std::string_view decoded, std::span<const std::string> references) final;
  Logs result() const final;
  void reset_state() final;
  Value save_state() const final;
  void merge(const Value& state) final;

 protected:
  // `name` unless the config has one.
  MeanScore(const TextMetricConfig& config, std::string_view name);
  virtual double score(std::string_view decoded, std::string_view reference) const = 0;

 private:
  std::string name_;
  double sum_ = 0;
  std::int64_t examples_ = 0;
};

}  // namespace trivet::lm
