// SPDX-License-Identifier: Apache-2.0
// TextMetric: a score of texts that a model wrote, against the texts of the data: exact match,
// BLEU. The runtime resets it at the start of a decode program, adds every example, and reads it at
// the end (task.eval_inputs with program = "decode").
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/logs.h"

namespace trivet {

struct TextMetricConfig {
  std::string name;
};
TRIVET_CONFIG(TextMetricConfig, trivet::NoBase,
              (name, "Name in the logs; empty: the metric's own."))

class TRIVET_API TextMetric : public Object {
 public:
  static constexpr std::string_view kKind = "text_metric";
  using Config = TextMetricConfig;
  using Context = NoContext;

  ~TextMetric() override;

  // Adds one example: the best text that the model wrote for it, and at least one text of the data,
  // of which the metric's definition says which counts. [run-thread]
  virtual void add(std::string_view decoded, std::span<const std::string> references) = 0;
  // The numbers since the last reset, by name. [run-thread]
  virtual Logs result() const = 0;
  // Forgets all examples. [run-thread]
  virtual void reset_state() = 0;
  // The sums so far. merge() adds those of another metric of the same config, as if this one had
  // seen its examples, too; it throws Error for a state that it cannot take. [run-thread]
  virtual Value save_state() const = 0;
  virtual void merge(const Value& state) = 0;
};

}  // namespace trivet
