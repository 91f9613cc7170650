// SPDX-License-Identifier: Apache-2.0
#include "train/divergence_guard.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "trivet/text/strings.h"

namespace trivet {

DivergenceGuard::DivergenceGuard(const TrainerConfig& config)
    : loss_upper_bound_(config.loss_upper_bound),
      gradient_norm_upper_bound_(config.gradient_norm_upper_bound),
      begin_steps_(config.recovery_begin_steps),
      max_trials_(config.recovery_max_trials),
      recovery_(config.recovery) {}

double DivergenceGuard::bound(std::int64_t number) const {
  return has_bound(number) ? loss_upper_bound_ : std::numeric_limits<double>::infinity();
}

double DivergenceGuard::norm_bound(std::int64_t number) const {
  return bounds_norms() && has_bound(number) ? gradient_norm_upper_bound_
                                             : std::numeric_limits<double>::infinity();
}

bool DivergenceGuard::is_bad(const Step& step) const {
  return !std::isfinite(step.loss) || step.loss > bound(step.number);
}

void DivergenceGuard::check(const Step& step) const {
  if (is_bad(step)) refuse(step);
}

void DivergenceGuard::check_weights(double sum_of_squares, const Step& step) const {
  if (!std::isfinite(sum_of_squares)) refuse(step, "the norm of the weights is not finite");
}

void DivergenceGuard::refuse(const Step& step) const {
  refuse(step, what_is_wrong(step));
}

void DivergenceGuard::refuse(const Step& step, const std::string& what) const {
  const bool restores = watches() && recovery_ == Recovery::restore;
  if (!restores) throw error(step, what, "");
  if (trials_ >= max_trials_) {
    throw error(step, what,
                fmt::format(", after the last checkpoint was restored {} "
                            "(trainer.recovery_max_trials)",
                            count_of(trials_, "time")));
  }
  const RunError bad = error(step, what, "");
  throw DivergedError(bad.message(), bad.details());
}

void DivergenceGuard::add_skipped(const Step& step) {
  if (++trials_ <= max_trials_) return;
  throw error(step, what_is_wrong(step),
              fmt::format(", after {} skipped steps (trainer.recovery_max_trials)", max_trials_));
}

std::string DivergenceGuard::skipped_text(const Step& step) const {
  return fmt::format("step {} is skipped: {}; {} of at most {} (trainer.recovery_max_trials)",
                     step.number, what_is_wrong(step), trials_, max_trials_);
}

Logs DivergenceGuard::logs() const {
  Logs logs;
  if (trials_ > 0) logs.set(skips() ? "skipped_steps" : "restores", static_cast<double>(trials_));
  return logs;
}

bool DivergenceGuard::exceeds_norm(const Step& step) const {
  return std::isfinite(step.gradient_norm) && step.gradient_norm >= norm_bound(step.number);
}

std::string DivergenceGuard::what_is_wrong(const Step& step) const {
  if (std::isnan(step.loss)) return "the training loss is not a number";
  if (std::isfinite(step.loss) && step.loss <= bound(step.number)) {
    return exceeds_norm(step) ? fmt::format("the norm of the gradients is {}", step.gradient_norm)
                              : "the gradients are not finite";
  }
  return fmt::format("the training loss is {}", step.loss);
}

RunError DivergenceGuard::error(const Step& step, const std::string& what,
                                const std::string& when) const {
  const bool above = std::isfinite(step.loss) && step.loss > bound(step.number);
  std::string bound;
  if (above) {
    bound = fmt::format(", above trainer.loss_upper_bound = {}", loss_upper_bound_);
  } else if (exceeds_norm(step)) {
    bound = fmt::format(", not below trainer.gradient_norm_upper_bound = {}",
                        gradient_norm_upper_bound_);
  }
  const std::string batch =
      step.batch_size > 0 ? fmt::format(", batch size {}", step.batch_size) : "";
  const std::string at = step.steps > 1 ? fmt::format("at one of the steps {} to {}",
                                                      step.number - step.steps + 1, step.number)
                                        : fmt::format("at step {}", step.number);
  return RunError(fmt::format("{} {}{}{} (learning rate {}{})", what, at, bound, when,
                              step.learning_rate, batch),
                  {.hint = "lower trainer.learning_rate, or set trainer.gradient_clip.global_norm; "
                           "nothing of this step is saved"});
}

}  // namespace trivet
