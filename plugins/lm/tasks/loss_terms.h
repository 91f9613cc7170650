// SPDX-License-Identifier: Apache-2.0
// A loss that is the weighted sum of several scalars of a model's outputs (Praxis'
// MultiLossAggregator, with weights).
#pragma once

#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/metric.h"
#include "trivet/tensor.h"

namespace trivet::lm {

struct LossTerm {
  std::string name;
  double weight = 1;
};
TRIVET_CONFIG(LossTerm, trivet::NoBase,
              (name, "A scalar of the model's outputs, such as \"avg_xent\".", required),
              (weight, "Factor of the loss in the sum."))

// Returns the sum of weight * outputs[name]. Throws UsageError, listing the valid names, if a name
// does not exist or is not a scalar.
Tensor sum_of(const std::vector<LossTerm>& terms, const NestedMap& outputs);

// The mean of each term as "loss/NAME", without its weight.
class LossTermMeans final : public Metric {
 public:
  explicit LossTermMeans(const std::vector<LossTerm>& terms);

  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::vector<std::string> names_;
  std::vector<double> sums_;
  double weight_ = 0;
};

}  // namespace trivet::lm
