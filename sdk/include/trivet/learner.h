// SPDX-License-Identifier: Apache-2.0
// Learner: gradients in, updated parameters out: clips, asks the schedule, runs the optimizer,
// counts updates, and owns the optimizer's slots.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/optimizer.h"
#include "trivet/schedule.h"
#include "trivet/scope.h"

namespace trivet {

struct GradientClipConfig {
  double global_norm = 0;
  double per_variable_norm = 0;
  double value = 0;
};
TRIVET_CONFIG(GradientClipConfig, trivet::NoBase,
              (global_norm,
               "All gradients are scaled so that their common l2 norm is at most this; 0: off.",
               at_least(0)),
              (per_variable_norm,
               "Each variable's gradient is scaled to at most this l2 norm; 0: off.", at_least(0)),
              (value, "Each element is cut to [-value, value]; 0: off.", at_least(0)))

class TRIVET_API Learner {
 public:
  // The store must be built. Keeps a reference to it.
  Learner(ParameterStore& store, std::unique_ptr<Optimizer> optimizer,
          std::unique_ptr<Schedule> learning_rate, GradientClipConfig clip = {});
  ~Learner();

  struct Update {
    double learning_rate = 0;
    // Global l2 norm before clipping by norm (after clipping by value); -1 when none is asked for.
    double gradient_norm = -1;
  };
  // Uses the gradients in the store: value, then per-variable, then global clipping, then the
  // optimizer. Gradients that are not finite (seen when a norm is taken) throw Error naming the
  // step and the learning rate. [run thread]
  Update apply_gradients();

  std::int64_t step() const { return step_; }  // updates done
  double learning_rate() const;                // of the next update
  void set_step(std::int64_t step) { step_ = step; }

  // Slots by name ("<parameter path>/<slot>"), in a fixed order, for checkpoints. The tensors are
  // the live ones.
  std::vector<std::pair<std::string, Tensor>> slots() const;
  ParameterStore& store() const { return store_; }

 private:
  struct Impl;
  ParameterStore& store_;
  std::unique_ptr<Impl> impl_;
  std::int64_t step_ = 0;
};

}  // namespace trivet
