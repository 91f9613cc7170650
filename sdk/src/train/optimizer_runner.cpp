// SPDX-License-Identifier: Apache-2.0
#include "train/optimizer_runner.h"

#include <cmath>

#include "layer/block_units.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/plugin/plugin_call.h"

namespace trivet::detail {
namespace {

// The optimizer knows its fields, not where in the config it is. A field may name variables that
// are frozen or another learner's: those are there, too.
void check_variables(const LearnerRule& rule, const ParameterStore& store) {
  try {
    const auto& all = store.parameters();
    std::vector<const Parameter*> variables;
    for (const auto& parameter : all) variables.push_back(&*parameter);
    rule.optimizer->check_variables(variables);
  } catch (const ConfigError& wrong) {
    std::vector<Diagnostic> diagnostics = wrong.diagnostics();
    for (Diagnostic& problem : diagnostics) {
      const bool main = rule.name.empty();
      problem.path = main ? "trainer.optimizer." + problem.path : "trainer.learners";
      if (!main) problem.what = "optimizer of '" + rule.name + "': " + problem.what;
    }
    throw ConfigError(std::move(diagnostics));
  }
}

void check_stores(const Device& device, DType dtype, const std::string& slot) {
  if ((device.info().storage_dtypes >> static_cast<unsigned>(dtype) & 1U) != 0) return;
  throw RunError("the backend " + device.key() + " cannot store " + std::string(name_of(dtype)) +
                     ", the type of the optimizer's slot '" + slot + "'",
                 {.path = "trainer.optimizer", .hint = "keep this slot in float32"});
}

}  // namespace

OptimizerRunner::OptimizerRunner(ParameterStore& store, LearnerRule rule,
                                 std::vector<Parameter*> variables, const SharedBlock& block)
    : store_(store),
      block_(block),
      rule_(std::move(rule)),
      optimizer_item_(item_of(*rule_.optimizer)),
      schedule_item_(item_of(*rule_.learning_rate)),
      variables_(std::move(variables)) {
  if (!variables_.empty()) check_variables(rule_, store_);
  for (const Parameter* variable : variables_) own_.push_back(block_.own_part_of(*variable));
  for (const std::string& slot : rule_.optimizer->slots()) slots_.push_back(make_slot(slot));
}

Tensor OptimizerRunner::Slot::between(std::size_t first, std::size_t last) const {
  return part_of(blocks.at(parts[first].dtype), parts[first].offset, parts[last].end());
}

OptimizerRunner::Slot OptimizerRunner::make_slot(const std::string& name) const {
  const Optimizer& optimizer = *rule_.optimizer;
  Slot slot{name, {}, {}};
  std::map<DType, std::int64_t> ends;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Parameter& variable = *variables_[i];
    const DType dtype = optimizer.slot_dtype(name, variable);
    check_stores(store_.device(), dtype, name);
    std::int64_t& end = ends[dtype];
    const Shape shape =
        optimizer.per_variable() ? optimizer.slot_shape(name, variable) : variable.shape();
    std::int64_t size = own_[i].range.size();
    if (optimizer.per_variable()) size = owns_some(i) ? shape.size() : 0;
    slot.parts.push_back({.shape = shape, .dtype = dtype, .offset = end, .size = size});
    end += padded(size);
  }
  for (const auto& [dtype, end] : ends) {
    slot.blocks[dtype] = Tensor::full(store_.device(), {end}, optimizer.slot_start(name), dtype);
  }
  return slot;
}

bool OptimizerRunner::continues(std::size_t variable) const {
  if (variable == 0 || rule_.optimizer->per_variable()) return false;
  for (const Slot& slot : slots_) {
    if (slot.parts[variable - 1].dtype != slot.parts[variable].dtype) return false;
  }
  const Parameter &before = *variables_[variable - 1], &now = *variables_[variable];
  return rule_.optimizer->group_of(before) == rule_.optimizer->group_of(now) &&
         store_.offset_of(before) + padded(before.shape().size()) == store_.offset_of(now);
}

OptimizerSegment OptimizerRunner::segment(std::size_t first, std::size_t last) const {
  const std::int64_t begin = own_[first].position, end = own_[last].end();
  OptimizerSegment segment{part_of(block_.values(), begin, end),
                           part_of(block_.gradients(), begin, end),
                           {},
                           rule_.optimizer->group_of(*variables_[first]),
                           rule_.optimizer->per_variable() ? variables_[first] : nullptr};
  for (const Slot& slot : slots_) {
    const bool none = slot.parts[first].shape.size() == 0 && variables_[first]->shape().size() > 0;
    segment.slots.push_back(none ? Tensor() : slot.between(first, last));
  }
  return segment;
}

bool OptimizerRunner::takes_part(std::size_t variable) const {
  return in_segments_[variable] && owns_some(variable);
}

// A variable without elements has an update, too, as the optimizer sees it.
bool OptimizerRunner::owns_some(std::size_t variable) const {
  return own_[variable].range.size() > 0 || variables_[variable]->shape().size() == 0;
}

// The last variable of the segment that begins with one. In between may be some of which other
// processes have all elements.
std::size_t OptimizerRunner::last_of_segment(std::size_t first) const {
  std::size_t last = first;
  for (std::size_t i = first + 1; i < variables_.size(); ++i) {
    if (!in_segments_[i] || !continues(i)) break;
    if (takes_part(i)) last = i;
  }
  return last;
}

bool OptimizerRunner::have_changed() const {
  if (in_segments_.size() != variables_.size()) return true;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (in_segments_[i] != variables_[i]->has_gradient()) return true;
  }
  return false;
}

void OptimizerRunner::make_segments() {
  segments_.clear();
  in_segments_.clear();
  for (const Parameter* variable : variables_) in_segments_.push_back(variable->has_gradient());
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!takes_part(i)) continue;
    const std::size_t last = last_of_segment(i);
    segments_.push_back(segment(i, last));
    i = last;
  }
}

double OptimizerRunner::rate_at(std::int64_t step) const {
  if (rate_ && rate_->step == step) return rate_->value;
  const double rate = in_plugin(schedule_item_, "value", "trainer.learning_rate",
                                [&] { return rule_.learning_rate->value(step); });
  if (std::isfinite(rate)) {
    rate_ = Rate{step, rate};
    return rate;
  }
  const std::string of = rule_.name.empty() ? "" : " of learner '" + rule_.name + "'";
  throw RunError("the learning rate" + of + " of update " + std::to_string(step) +
                 " is not a finite number");
}

void OptimizerRunner::update(std::int64_t step, float gradient_scale) {
  const double rate = rate_at(step);
  if (have_changed()) make_segments();
  if (segments_.empty()) return;
  const OptimizerStep now{.step = step, .learning_rate = rate, .gradient_scale = gradient_scale};
  in_plugin(optimizer_item_, "update", "trainer.optimizer",
            [&] { rule_.optimizer->update(now, segments_); });
}

void OptimizerRunner::add_slots(std::vector<SharedTensor>& out) const {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    for (const Slot& slot : slots_) {
      const Shape& shape = slot.parts[i].shape;
      if (shape.size() == 0 && variables_[i]->shape().size() > 0) continue;
      out.push_back({.name = variables_[i]->path() + '/' + slot.name,
                     .shape = shape,
                     .part = slot.between(i, i),
                     .variable = variables_[i]});
    }
  }
}

}  // namespace trivet::detail
