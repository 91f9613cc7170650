// SPDX-License-Identifier: Apache-2.0
// MetricGroup: combines the metrics of one of several tasks; the results are named "NAME/accuracy"
// and so on. A task without a step since the last reset returns no results.
#pragma once

#include <string>
#include <utility>

#include "trivet/metric.h"

namespace trivet::multitask {

class MetricGroup final : public Metric {
 public:
  MetricGroup(std::string name, Metrics metrics)
      : name_(std::move(name)), metrics_(std::move(metrics)) {}

  // For a step of the task, which updates the metrics itself.
  Metrics& use() {
    used_ = true;
    return metrics_;
  }

  // Updates from a batch of several tasks; does nothing if this task is not in it.
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::string name_;
  Metrics metrics_;
  bool used_ = false;
};

// Renames "loss" to "NAME/loss".
Logs with_prefix(const std::string& name, const Logs& logs);
NestedMap with_prefix(const std::string& name, const NestedMap& map);

}  // namespace trivet::multitask
