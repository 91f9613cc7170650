// SPDX-License-Identifier: Apache-2.0
// NgramBaselines: at the first evaluation, reports what n-gram counts of the training data reach on
// the evaluation data (ngrams.h), for comparison with the model:
//
//   baselines  unigram bits_per_byte=4.5021 log_pplx=3.1207  trigram bits_per_byte=2.6543 ...
//
// Reads one epoch of both inputs of the task. Reports bits per byte if batches have "label_bytes".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trivet/action.h"
#include "trivet/task.h"

namespace trivet::lm {

struct NgramBaselinesConfig : ActionConfig {
  std::vector<std::int64_t> orders = {1, 3};
};
TRIVET_CONFIG(NgramBaselinesConfig, trivet::ActionConfig,
              (orders, "Tokens of an n-gram: 1 is a unigram.", at_least(1), at_most(16)))

class NgramBaselines final : public Action {
 public:
  using Config = NgramBaselinesConfig;
  NgramBaselines(const Config& config, ActionContext& context);
  void run(const ActionEvent& event) override;

 private:
  std::vector<std::int64_t> orders_;
  Task& task_;
  std::function<void(const std::string&)> say_;
  bool said_ = false;
};

}  // namespace trivet::lm
