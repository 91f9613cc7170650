// SPDX-License-Identifier: Apache-2.0
#include "metric_group.h"

#include "trivet/error.h"

namespace trivet::multitask {

void MetricGroup::update_state(const Batch& batch, const NestedMap& outputs) {
  const Batch own = batch.child(name_);
  if (own.empty()) return;
  const NestedMap own_outputs = outputs.child(name_);
  for (const auto& metric : use()) metric->update_state(own, own_outputs);
}

Logs MetricGroup::result() const {
  Logs logs;
  if (!used_) return logs;
  for (const auto& metric : metrics_) logs.merge(metric->result());
  return with_prefix(name_, logs);
}

void MetricGroup::reset_state() {
  used_ = false;
  for (const auto& metric : metrics_) metric->reset_state();
}

Value MetricGroup::save_state() const {
  Value states = Value::array();
  for (const auto& metric : metrics_) states.push_back(metric->save_state());
  return Value::table({{"used", used_}, {"metrics", std::move(states)}});
}

void MetricGroup::restore_state(const Value& state) {
  const Value *used = state.find("used"), *states = state.find("metrics");
  if (used == nullptr || states == nullptr || states->items().size() != metrics_.size()) {
    throw RunError("the state of the metrics of task '" + name_ + "' has another form",
                   {.hint = "the checkpoint was saved with other metrics"});
  }
  used_ = used->as_boolean();
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    metrics_[i]->restore_state(states->items()[i]);
  }
}

void MetricGroup::merge(const Value& state) {
  const std::string owner = "the state of the metrics of task '" + name_ + "'";
  const Value::Array& states = state.at("metrics", owner).items();
  if (states.size() != metrics_.size()) throw Error(owner + " has another form");
  used_ = used_ || state.at("used", owner).as_boolean();
  for (std::size_t i = 0; i < metrics_.size(); ++i) metrics_[i]->merge(states[i]);
}

Logs with_prefix(const std::string& name, const Logs& logs) {
  Logs out;
  for (const auto& [key, value] : logs) out.set(name + "/" + key, value);
  return out;
}

NestedMap with_prefix(const std::string& name, const NestedMap& map) {
  NestedMap out;
  for (const auto& [path, tensor] : map) out.set(name + "/" + path, tensor);
  return out;
}

}  // namespace trivet::multitask
