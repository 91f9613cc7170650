// SPDX-License-Identifier: Apache-2.0
// Finds the fields of a config that name a metric (names_metric in config.h): of the best
// checkpoint, of actions, of a search's objective. Misspelled names are found before a run starts.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"
#include "trivet/train/logs.h"
#include "trivet/trainer.h"

namespace trivet {

struct MetricUse {
  std::string name;  // or a pattern of names (trivet/search/metric_pattern.h)
  std::string path;  // "trainer.best_checkpoint.metric"
  Origin where;
  enum class Form { name, pattern } form = Form::name;
};

struct MetricUses {
  std::vector<MetricUse> training, evaluation;

  bool empty() const { return training.empty() && evaluation.empty(); }
};

// The uses of a resolved config's trainer, for the halves that its mode has. `schemas` give the
// types in it.
MetricUses metric_uses(const Value& config, SchemaLookup& schemas);
// Adds the uses of [xp], which may select a half: "train/training_loss". They may be patterns; the
// rates of records, which every run has, are left out.
void add_searched_metrics(const Value& config, SchemaLookup& schemas, MetricUses& uses);

// The names of known metrics. Metrics that every trainer may give later, such as skipped_steps,
// need no entry.
struct MetricNames {
  std::set<std::string> training, evaluation;
};
void add_names(std::set<std::string>& names, const Logs& logs, const std::string& prefix = {});
// The names of the task's metrics before any step, and of `trainer`.
MetricNames known_names(Task& task, const TrainerConfig& trainer, const MetricUses& uses);

// Reports uses that are not among the names, with the nearest names.
std::vector<Diagnostic> unknown_metrics(const MetricUses& uses, const MetricNames& names);

}  // namespace trivet
