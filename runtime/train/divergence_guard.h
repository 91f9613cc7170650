// SPDX-License-Identifier: Apache-2.0
// DivergenceGuard: detects bad training steps and decides how the run continues:
// trainer.loss_upper_bound, gradient_norm_upper_bound and recovery. Based on Model Garden's
// RecoveryCondition, checked after every step.
//
// A non-finite loss is always bad. A loss above its bound, and gradients whose norm is not below
// theirs (Pax' skip_step_gradient_norm_value), are bad from recovery_begin_steps on. If a run may
// recover, non-finite gradients are bad, too.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/train/logs.h"
#include "trivet/trainer.h"

namespace trivet {

class DivergenceGuard {
 public:
  explicit DivergenceGuard(const TrainerConfig& config);

  struct Step {
    std::int64_t number = 0;  // counted from 1
    double loss = 0;
    double gradient_norm = -1;  // -1: not known
    double learning_rate = 0;
    std::int64_t batch_size = 0;
    std::int64_t steps = 1;  // the last of this many steps, one of which is bad
  };

  // Whether the run may recover, so that every loss must be read and every norm computed.
  bool watches() const { return max_trials_ > 0; }
  bool skips() const { return watches() && recovery_ == Recovery::skip; }
  // The largest accepted loss at the step.
  double bound(std::int64_t number) const;
  bool has_bound(std::int64_t number) const { return number >= begin_steps_; }
  // The norm of gradients from which on a step is bad.
  double norm_bound(std::int64_t number) const;
  bool bounds_norms() const { return gradient_norm_upper_bound_ > 0; }

  // Does nothing for a good step; else like `refuse`.
  void check(const Step& step) const;
  // Throws DivergedError while a checkpoint may be restored, else RunError.
  [[noreturn]] void refuse(const Step& step) const;
  // Whether `check` would throw.
  bool is_bad(const Step& step) const;
  // A step was skipped. Throws RunError if it was one too many.
  void add_skipped(const Step& step);
  // "step 17 is skipped: the gradients are not finite; 2 of at most 3".
  std::string skipped_text(const Step& step) const;
  // Like `check`, for weights after a step, by the sum of their squares: weights with a non-finite
  // sum are bad, even if only their norm overflows.
  void check_weights(double sum_of_squares, const Step& step) const;

  // Steps skipped or checkpoints restored since the start of the run.
  std::int64_t trials() const { return trials_; }
  void set_trials(std::int64_t trials) { trials_ = trials; }
  // "skipped_steps" or "restores", once above 0.
  Logs logs() const;

 private:
  [[noreturn]] void refuse(const Step& step, const std::string& what) const;
  RunError error(const Step& step, const std::string& what, const std::string& when) const;
  std::string what_is_wrong(const Step& step) const;
  bool exceeds_norm(const Step& step) const;

  double loss_upper_bound_, gradient_norm_upper_bound_;
  std::int64_t begin_steps_, max_trials_;
  Recovery recovery_;
  std::int64_t trials_ = 0;
};

}  // namespace trivet
