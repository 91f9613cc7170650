// SPDX-License-Identifier: Apache-2.0
// Around: an optimizer that changes what another one does. It has the other one's slots, and may
// add its own after them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/config_of.h"
#include "trivet/optimizer.h"

namespace trivet::optim {

class Around : public Optimizer {
 public:
  std::vector<std::string> slots() const override { return optimizer_->slots(); }
  double slot_start(std::string_view slot) const override { return optimizer_->slot_start(slot); }
  Shape slot_shape(std::string_view slot, const Parameter& parameter) const override {
    return optimizer_->slot_shape(slot, parameter);
  }
  DType slot_dtype(std::string_view slot, const Parameter& parameter) const override {
    return optimizer_->slot_dtype(slot, parameter);
  }
  std::int64_t group_of(const Parameter& parameter) const override {
    return optimizer_->group_of(parameter);
  }
  bool per_variable() const override { return optimizer_->per_variable(); }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (const OptimizerSegment& segment : segments) update_one(step, segment);
  }
  // Asks the inner optimizer; the paths of its errors begin with "optimizer.".
  void check_variables(std::span<const Parameter* const> variables) const override;

 protected:
  explicit Around(const ConfigOf<Optimizer>& optimizer);
  virtual void update_one(const OptimizerStep& step, const OptimizerSegment& segment) = 0;
  // The inner optimizer's update of one segment.
  void update_inner(const OptimizerStep& step, const OptimizerSegment& segment);
  const Optimizer& inner() const { return *optimizer_; }

 private:
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace trivet::optim
