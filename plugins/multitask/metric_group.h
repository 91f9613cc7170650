// SPDX-License-Identifier: Apache-2.0
// MetricGroup: the metrics of one of several tasks, as one metric whose numbers are "NAME/accuracy"
// and so on. A task that had no step since the last reset gives none.
#pragma once

#include <string>
#include <utility>

#include "trivet/metric.h"

namespace trivet::multitask {

class MetricGroup final : public Metric {
 public:
  MetricGroup(std::string name, Metrics metrics)
      : name_(std::move(name)), metrics_(std::move(metrics)) {}

  // For a step of the task, which updates them itself.
  Metrics& use() {
    used_ = true;
    return metrics_;
  }

  // Of a batch of several tasks; nothing when the task is not among them.
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 private:
  std::string name_;
  Metrics metrics_;
  bool used_ = false;
};

// "NAME/loss" for "loss".
Logs with_prefix(const std::string& name, const Logs& logs);
NestedMap with_prefix(const std::string& name, const NestedMap& map);

}  // namespace trivet::multitask
