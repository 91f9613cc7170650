// SPDX-License-Identifier: Apache-2.0
#include "config/experiment_loader.h"

#include <algorithm>

#include "config/layer_loader.h"
#include "config/tree/drop_defaults.h"
#include "trivet/error.h"

namespace trivet {
namespace {

void drop_nulls(Value& value) {
  if (value.is_array()) {
    for (Value& item : value.items()) drop_nulls(item);
  }
  if (!value.is_table()) return;
  std::erase_if(value.members(),
                [](const Value::Member& member) { return member.value.is_null(); });
  for (Value::Member& member : value.members()) drop_nulls(member.value);
}

void set_notes(Value& value, const std::string& note) {
  if (!value.is_null()) value.set_origin({.note = note});
  if (value.is_array()) {
    for (Value& item : value.items()) set_notes(item, note);
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) set_notes(member.value, note);
}

}  // namespace

Value take_experiment(std::vector<Value>& layers) {
  Value name;
  for (Value& layer : layers) {
    Value* found = layer.find("experiment");
    if (found == nullptr) continue;
    name = std::move(*found);
    layer.erase("experiment");
  }
  return name;
}

void ExperimentLoader::load(const Value& name) {
  if (!name.is_string()) {
    diagnostics_.add({name.origin(), "experiment", "expected a string, \"plugin/name\"", {}});
    return;
  }
  if (std::find(chain_.begin(), chain_.end(), name.as_string()) != chain_.end()) {
    std::string text;
    for (const std::string& link : chain_) text += link + " -> ";
    diagnostics_.add({name.origin(), "experiment", "experiment cycle: " + text + name.as_string(),
                      "an experiment cannot start from itself"});
    return;
  }
  try {
    load_known(name);
  } catch (const ConfigError& error) {
    for (Diagnostic problem : error.diagnostics()) {
      if (!problem.where.known()) problem.where = name.origin();
      diagnostics_.add(std::move(problem));
    }
  }
}

void ExperimentLoader::load_known(const Value& name) {
  const std::string& key = name.as_string();
  ConfigCatalog::Experiment experiment = catalog_.experiment(key);
  if (experiment.file.empty()) {
    drop_nulls(experiment.config);
    drop_defaults(experiment.config, tree_, tree_.root());
    set_notes(experiment.config, "experiment " + key);
    layers_.push_back(std::move(experiment.config));
    if (experiment.restricted) restricted_.push_back(key);
    return;
  }
  LayerLoader loader(diagnostics_);
  loader.load(experiment.file);
  std::vector<Value> layers = loader.take();
  chain_.push_back(key);
  const Value below = take_experiment(layers);
  if (!below.is_null()) load(below);
  std::move(layers.begin(), layers.end(), std::back_inserter(layers_));
}

}  // namespace trivet
