// SPDX-License-Identifier: Apache-2.0
// Schedules. s = max(step - offset, 0) counts from where the decay begins, d = decay_steps. Each
// may have a warm-up (warmed_schedule.h).
//
//   Constant     value
//   Linear       initial + (final - initial) * min(s, d) / d
//   Cosine       final + (initial - final) * (1 + cos(pi * min(s, d) / d)) / 2,
//                Loshchilov and Hutter 2017 without restarts; Model Garden's alpha is final /
//                initial
//   Exponential  max(minimum, initial * decay_rate^(s / d)), the quotient rounded down if staircase
//   InverseTime  initial / (1 + decay_rate * s / d), as Keras' InverseTimeDecay and, with d = 1, the
//                `decay` of its SGD
//   Polynomial   final + (initial - final) * (1 - min(s, d) / d)^power; with cycle, d is replaced
//                by d * max(1, ceil(s / d)) once s passes it; with origin = start it is
//                initial + (final - initial) * (min(s, d) / d)^power
//   Piecewise    values[number of boundaries <= s], with `closed` [number of boundaries < s]
//   Power        initial * max(s, 1)^power
//   PowerLinear  initial * max(s, 1)^power * max(0, min(1, (T - s) / (T f))), with T =
//                total_decay_steps and f = linear_decay_fraction; f = 0: without the last factor
//   PowerWithOffset
//                step <= offset: pre_offset_value, else min(initial * s^power, pre_offset_value)
//   StepCosine   half a cosine from values[i] to values[i + 1] between boundaries[i] and
//                boundaries[i + 1]
//
// After Model Garden's (official/modeling/optimization), with these differences: before `offset`
// they stay at the initial value; at a boundary Piecewise has the next value, as Praxis'
// PiecewiseConstant and PyTorch's MultiStepLR, or the previous one if `closed` (Model Garden);
// StepCosine holds its last value, where Model Garden's divides by 0.
//
// A schedule is its config: `at` of the struct is the formula above, WarmedSchedule
// (warmed_schedule.h) makes the registered class of it.
#pragma once

#include <cstdint>
#include <vector>

#include "optim/schedules/warmed_schedule.h"

namespace trivet::optim {

struct ConstantConfig : WarmedConfig {
  double value = 0;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(ConstantConfig, trivet::optim::WarmedConfig, (value, "The value.", required))

// Fields shared by all decaying schedules.
struct DecayingConfig : WarmedConfig {
  double initial_value = 0;
  std::int64_t decay_steps = 0;
  std::int64_t offset = 0;

  double steps_done(std::int64_t step) const;  // s
  double part_done(std::int64_t step) const;   // min(s, d) / d
};
TRIVET_CONFIG(DecayingConfig, trivet::optim::WarmedConfig,
              (initial_value, "The value at the start.", required),
              (decay_steps, "Length of the decay in steps.", required, at_least(1)),
              (offset, "Step at which the decay starts; it may be negative."))

struct LinearConfig : DecayingConfig {
  double final_value = 0;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(LinearConfig, trivet::optim::DecayingConfig,
              (final_value, "The value at the end and after it."))

struct CosineConfig : DecayingConfig {
  double final_value = 0;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(CosineConfig, trivet::optim::DecayingConfig,
              (final_value, "The value at the end and after it."))

struct ExponentialConfig : DecayingConfig {
  double decay_rate = 0;
  bool staircase = false;
  double minimum = 0;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(ExponentialConfig, trivet::optim::DecayingConfig,
              (decay_rate, "Factor by which the value falls every decay_steps steps.", required,
               more_than(0)),
              (staircase, "Decays in steps instead of smoothly."),
              (minimum, "Minimum of the value.", at_least(0)))

struct InverseTimeConfig : DecayingConfig {
  double decay_rate = 0;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(InverseTimeConfig, trivet::optim::DecayingConfig,
              (decay_rate,
               "Sets the value after decay_steps, the initial one divided by 1 + decay_rate.",
               required, more_than(0)))

// The end of the decay at which a polynomial is flat, for a power above 1.
enum class PolynomialOrigin { start, limit };
TRIVET_ENUM(PolynomialOrigin, start, limit)

struct PolynomialConfig : DecayingConfig {
  double final_value = 0;
  double power = 1;
  bool cycle = false;
  PolynomialOrigin origin = PolynomialOrigin::limit;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(PolynomialConfig, trivet::optim::DecayingConfig,
              (final_value, "The value at the end and after it."),
              (power, "Power of the decay. 1: linear.", more_than(0)),
              (cycle, "Restarts after decay_steps, with longer and longer cycles."),
              (origin,
               "Point from which the power counts: limit, the end of the decay, so that it slows "
               "down; start, so that it speeds up (for a power above 1)."))

struct PiecewiseConfig : WarmedConfig {
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
  std::int64_t offset = 0;
  bool closed = false;

  double at(std::int64_t step) const;
  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PiecewiseConfig, trivet::optim::WarmedConfig,
              (boundaries, "Steps at which the next value begins, rising.", at_least(0)),
              (values, "Values of the ranges: one more than there are boundaries.", required),
              (offset, "Number of steps added to every boundary; it may be negative."),
              (closed, "The next value begins one step after its boundary."))

struct PowerConfig : WarmedConfig {
  double initial_value = 0;
  double power = -0.5;
  std::int64_t offset = 0;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(PowerConfig, trivet::optim::WarmedConfig,
              (initial_value, "The value at step 1.", required),
              (power, "Exponent. -0.5: inverse square root decay."),
              (offset, "Step that counts as 0; it may be negative."))

struct PowerLinearConfig : PowerConfig {
  std::int64_t total_decay_steps = 0;
  double linear_decay_fraction = 0.1;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(PowerLinearConfig, trivet::optim::PowerConfig,
              (total_decay_steps, "Step at which the linear decay reaches 0.", required,
               at_least(1)),
              (linear_decay_fraction,
               "Share of the steps that the linear decay takes. 0: no linear decay.",
               between(0, 1)))

struct PowerWithOffsetConfig : PowerConfig {
  double pre_offset_value = 1e6;

  double at(std::int64_t step) const;
};
TRIVET_CONFIG(PowerWithOffsetConfig, trivet::optim::PowerConfig,
              (pre_offset_value, "The value up to `offset`, and the largest one after it."))

// Adds the error of boundaries that do not rise.
void check_rising(const std::vector<std::int64_t>& boundaries, Diagnostics& diagnostics);

struct StepCosineConfig : WarmedConfig {
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
  std::int64_t offset = 0;

  double at(std::int64_t step) const;
  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(StepCosineConfig, trivet::optim::WarmedConfig,
              (boundaries, "Steps at which the values are reached, rising.", required, at_least(0)),
              (values, "Values at the boundaries, one for each.", required),
              (offset, "Number of steps added to every boundary; it may be negative."))

using Constant = WarmedSchedule<ConstantConfig>;
using Linear = WarmedSchedule<LinearConfig>;
using Cosine = WarmedSchedule<CosineConfig>;
using Exponential = WarmedSchedule<ExponentialConfig>;
using InverseTime = WarmedSchedule<InverseTimeConfig>;
using Polynomial = WarmedSchedule<PolynomialConfig>;
using Piecewise = WarmedSchedule<PiecewiseConfig>;
using Power = WarmedSchedule<PowerConfig>;
using PowerLinear = WarmedSchedule<PowerLinearConfig>;
using PowerWithOffset = WarmedSchedule<PowerWithOffsetConfig>;
using StepCosine = WarmedSchedule<StepCosineConfig>;

}  // namespace trivet::optim
