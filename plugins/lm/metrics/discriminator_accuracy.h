// SPDX-License-Identifier: Apache-2.0
// DiscriminatorAccuracy: of the tokens without padding, "discriminator_accuracy" is the share that
// lm/Electra's discriminator judges right, and "replaced_tokens" the share that was replaced. One
// that calls no token replaced has an accuracy of 1 - replaced_tokens.
#pragma once

#include "trivet/metric.h"

namespace trivet::lm {

class DiscriminatorAccuracy final : public Metric {
 public:
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  double tokens_ = 0, right_ = 0, replaced_ = 0;
};

}  // namespace trivet::lm
