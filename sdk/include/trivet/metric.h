// SPDX-License-Identifier: Apache-2.0
// Metric: a number (or a few) accumulated over steps. The trainer resets it at the start of a loop
// or an evaluation, updates it every step, and reads it at the end.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/nested_map.h"
#include "trivet/train/logs.h"

namespace trivet {

struct MetricConfig {
  std::string name;
  bool in_training = false;
};
TRIVET_CONFIG(MetricConfig, trivet::NoBase, (name, "Name in the logs; empty: the metric's own."),
              (in_training, "In task.metrics: training reports it, too, not evaluations alone.",
               adjustable))

class TRIVET_API Metric : public Object {
 public:
  static constexpr std::string_view kKind = "metric";
  using Config = MetricConfig;
  using Context = NoContext;

  ~Metric() override;

  // Adds a batch and the model's outputs for it. Examples whose batch "weight" is 0 do not count.
  // Runs off the tape. [run-thread]
  virtual void update_state(const Batch& batch, const NestedMap& outputs) = 0;
  // The numbers since the last reset, by name. [run-thread]
  virtual Logs result() const = 0;
  // Forgets all batches. [run-thread]
  virtual void reset_state() = 0;
  // The sums so far, so that a run stopped in the middle of a loop continues exactly. restore_state
  // throws Error for a state that it cannot take. [run-thread]
  virtual Value save_state() const = 0;
  virtual void restore_state(const Value& state) = 0;
  // Adds the sums of another metric of the same config, by its save_state: as if this one had seen
  // the other's batches after its own. An evaluation that several processes share needs it.
  // Default: throws Error that names the class; an override throws Error for a state that it cannot
  // take. [run-thread]
  virtual void merge(const Value& state);
};

using Metrics = std::vector<std::unique_ptr<Metric>>;

}  // namespace trivet
