// SPDX-License-Identifier: Apache-2.0
#include "optim/around/ewc.h"

#include <limits>

#include "optim/parts/decay_filter.h"
#include "optim/parts/moments.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

constexpr std::string_view kStart = "start";

std::vector<std::string> patterns_of(const Map<double>& importance) {
  std::vector<std::string> patterns;
  for (const auto& [pattern, value] : importance) patterns.push_back(pattern);
  return patterns;
}

}  // namespace

void EwcConfig::validate(Diagnostics& diagnostics) const {
  check_patterns(diagnostics, "importance", patterns_of(importance));
}

Ewc::Ewc(const Config& config) : Around(config.optimizer), config_(config) {
  for (const auto& [pattern, value] : config.importance) {
    importances_.push_back({Patterns({pattern}), value});
  }
  importances_.push_back({Patterns({""}), 1});
}

std::vector<std::string> Ewc::slots() const {
  std::vector<std::string> names = Around::slots();
  names.emplace_back(kStart);
  return names;
}

double Ewc::slot_start(std::string_view slot) const {
  return slot == kStart ? std::numeric_limits<double>::quiet_NaN() : Around::slot_start(slot);
}

Shape Ewc::slot_shape(std::string_view slot, const Parameter& parameter) const {
  return slot == kStart ? parameter.shape() : Around::slot_shape(slot, parameter);
}

DType Ewc::slot_dtype(std::string_view slot, const Parameter& parameter) const {
  return slot == kStart ? DType::f32 : Around::slot_dtype(slot, parameter);
}

// For each group of the optimizer, one for each importance.
std::int64_t Ewc::group_of(const Parameter& parameter) const {
  std::int64_t index = 0;
  while (!importances_[static_cast<std::size_t>(index)].pattern.found_in(parameter.path())) ++index;
  return importances() * Around::group_of(parameter) + index;
}

void Ewc::check_variables(std::span<const Parameter* const> variables) const {
  expect_found(patterns_of(config_.importance), "importance", variables);
  Around::check_variables(variables);
}

void Ewc::update_one(const OptimizerStep& step, const OptimizerSegment& segment) {
  Tensor start = segment.slots.back();
  // NaN, the only number that is not equal to itself, is a start that is not known yet.
  assign(start, ops::where(ops::equal(start, start), start, segment.value));
  const double importance =
      importances_[static_cast<std::size_t>(segment.group % importances())].value;
  const Tensor pull = scaled(ops::sub(segment.value, start),
                             step.learning_rate * config_.strength / 2 * importance);
  OptimizerSegment part = segment;
  part.group = segment.group / importances();
  part.slots.pop_back();
  update_inner(step, part);
  assign(part.value, ops::sub(part.value, pull));
}

}  // namespace trivet::optim
