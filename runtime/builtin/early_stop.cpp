// SPDX-License-Identifier: Apache-2.0
#include "builtin/early_stop.h"

#include <cmath>

#include <fmt/core.h>

#include "base/format.h"
#include "builtin/logged_number.h"
#include "trivet/config/enums.h"
#include "trivet/text/strings.h"

namespace trivet {

void StopConfig::validate(Diagnostics& diagnostics) const {
  if (reason.empty()) diagnostics.add("reason", "must not be empty");
}

Stop::Stop(const Config& config, ActionContext& context)
    : config_(config), request_stop_(context.request_stop) {}

void Stop::run(const ActionEvent&) {
  if (request_stop_) request_stop_(config_.reason);
}

void EarlyStopConfig::validate(Diagnostics& diagnostics) const {
  if (!patience && !target) {
    diagnostics.add("patience",
                    "is not set, and neither is target: training would never end early");
  }
}

EarlyStop::EarlyStop(const Config& config, ActionContext& context)
    : config_(config), request_stop_(context.request_stop) {}

bool EarlyStop::reaches_target(double value) const {
  if (!config_.target) return false;
  return config_.goal == Goal::min ? value <= *config_.target : value >= *config_.target;
}

bool EarlyStop::improves(double value) const {
  if (std::isnan(value)) return false;
  if (!best_) return true;
  const double gain = config_.goal == Goal::min ? *best_ - value : value - *best_;
  return gain > config_.min_delta;
}

void EarlyStop::run(const ActionEvent& event) {
  if (!request_stop_ || event.step < config_.start_step) return;
  const auto value = logged_number(event, config_.metric, "trivet/EarlyStop");
  if (!value) return;
  if (improves(*value)) {
    best_ = *value;
    best_step_ = event.step;
    waited_ = 0;
  } else {
    ++waited_;
  }
  if (reaches_target(*value)) {
    request_stop_(fmt::format("{} {} reached the target {}", config_.metric, format_number(*value),
                              format_number(*config_.target)));
  } else if (config_.patience && waited_ >= *config_.patience) {
    request_stop_(
        best_ ? fmt::format("{} did not improve on {} of step {} in {}", config_.metric,
                            format_number(*best_), best_step_, count_of(waited_, "event"))
              : fmt::format("{} was NaN in {}", config_.metric, count_of(waited_, "event")));
  }
}

Value EarlyStop::save_state() const {
  return Value::table(
      {{"best", best_ ? Value(*best_) : Value()}, {"best_step", best_step_}, {"waited", waited_}});
}

void EarlyStop::restore_state(const Value& state) {
  const Value& best = state.at("best", "the state of trivet/EarlyStop");
  best_ = best.is_null() ? std::nullopt : std::optional(best.as_float());
  best_step_ = state.at("best_step", "the state of trivet/EarlyStop").as_integer();
  waited_ = state.at("waited", "the state of trivet/EarlyStop").as_integer();
}

}  // namespace trivet
