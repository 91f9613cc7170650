// SPDX-License-Identifier: Apache-2.0
// What a Learner does with gradients and weights, and by which optimizers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/config/patterns.h"
#include "trivet/optimizer.h"
#include "trivet/schedule.h"

namespace trivet {

struct GradientClipConfig {
  double global_norm = 0;
  double per_variable_norm = 0;
  double value = 0;
  bool each_part = false;
};
TRIVET_CONFIG(GradientClipConfig, trivet::NoBase,
              (global_norm,
               "All gradients are scaled so that their common l2 norm is at most this; 0: off.",
               at_least(0)),
              (per_variable_norm,
               "Each variable's gradient is scaled to at most this l2 norm; 0: off.", at_least(0)),
              (value, "Each element is cut to [-value, value]; 0: off.", at_least(0)),
              (each_part,
               "Limits the gradients of each micro-batch of gradient_accumulation, instead of "
               "their mean."))

// Noise on the gradients, after clipping: g + stddev * N(0, 1), drawn for every update from the key
// of its first pass and the path of the variable (Neelakantan et al. 2015).
//
// With `each_part` and micro-batches of one example it is DP-SGD (Abadi et al. 2016, algorithm 1):
// stddev is the noise multiplier * global_norm / the number of examples of an update. Model
// Garden's differential_privacy_config clips the mean of a batch, with stddev the noise multiplier
// * global_norm.
struct GradientNoiseConfig {
  double stddev = 0;
};
TRIVET_CONFIG(GradientNoiseConfig, trivet::NoBase,
              (stddev, "Standard deviation of the noise; 0: none.", at_least(0)))

// An exponential moving average of the weights, after every update
//
//   average = k average + (1 - k) w,   s = updates done - start_step
//   k = 0 while s < 0 (a copy), else min(decay, (1 + s) / (10 + s)) if dynamic_decay, else decay
//
// as Model Garden's ema_optimizer, but it starts at the weights and not at 0, so that it is a mean
// of weights from the first update on. States (running means of norms) are averages already and are
// left as they are, unless trainable_weights_only is off, which averages everything, frozen weights
// (to no effect) included.
//
// With before_update the average takes the weights before each update, and s counts the updates
// before it, as Pax (ema_decay): it is that of one update earlier.
struct EmaConfig {
  double decay = 0;
  bool trainable_weights_only = true;
  bool dynamic_decay = true;
  std::int64_t start_step = 0;
  bool before_update = false;
};
TRIVET_CONFIG(EmaConfig, trivet::NoBase,
              (decay, "Share of the old average that is kept; 0: no average.", at_least(0),
               less_than(1)),
              (trainable_weights_only, "States, such as BatchNorm's means, are not averaged."),
              (dynamic_decay, "A smaller share at first: (1 + s) / (10 + s)."),
              (start_step, "Until this update the average is a copy.", at_least(0)),
              (before_update,
               "Averages the weights before each update, as Pax, instead of the updated weights."))

// Variational noise (Graves 2011), as Praxis' vn_scale, vn_regex and vn_start_step: in training the
// forward and the backward pass use
//
//   w + scale * N(0, 1)
//
// drawn for every pass from the key of the step and the path of the variable; the update is of
// w. Evaluations use w.
struct VariationalNoiseConfig {
  double scale = 0;
  std::vector<std::string> variables;
  std::int64_t start_step = 0;

  void validate(Diagnostics& diagnostics) const {
    check_patterns(diagnostics, "variables", variables);
  }
};
TRIVET_CONFIG(VariationalNoiseConfig, trivet::NoBase,
              (scale, "Standard deviation of the noise; 0: none.", at_least(0)),
              (variables, "Patterns of whole paths of the variables that get it; none: all."),
              (start_step, "First update with noise.", at_least(0)))

// One optimizer with its schedule, for some of the trainable variables.
struct LearnerRule {
  std::string name{};      // "" for the only, or main, one
  Patterns variables{{}};  // of whole paths; empty: what no other rule matches
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> learning_rate;
};

struct LearnerOptions {
  GradientClipConfig clip{};
  EmaConfig ema{};
  VariationalNoiseConfig variational_noise{};
  GradientNoiseConfig gradient_noise{};
  // Updates whose loss or gradients are not finite, or beyond a bound of LearnerStepOptions, are
  // left out and told by Update::skipped. It costs a norm of all gradients per update.
  bool skip_bad_updates = false;
};

}  // namespace trivet
