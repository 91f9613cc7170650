// SPDX-License-Identifier: Apache-2.0
// Schedules. s = max(step - offset, 0) counts from where the decay begins, d = decay_steps. Each
// may have a warm-up (warmup.h).
//
//   Constant     value
//   Linear       initial + (final - initial) * min(s, d) / d
//   Cosine       final + (initial - final) * (1 + cos(pi * min(s, d) / d)) / 2,
//                Loshchilov and Hutter 2017 without restarts; Model Garden's alpha is final /
//                initial
//   Exponential  max(minimum, initial * decay_rate^(s / d)), the quotient rounded down if staircase
//   Polynomial   final + (initial - final) * (1 - min(s, d) / d)^power; with cycle, d is replaced
//   by
//                d * max(1, ceil(s / d)) once s passes it
//   Piecewise    values[number of boundaries <= s]
//
// After Model Garden's (official/modeling/optimization), with two differences: before `offset` they
// stay at the initial value, and at a boundary itself Piecewise has the next value, as Praxis'
// PiecewiseConstant and PyTorch's MultiStepLR (Model Garden: still the one before).
#pragma once

#include <cstdint>
#include <vector>

#include "warmup.h"

namespace trivet::optim {

struct ConstantConfig : WarmedConfig {
  double value = 0;
};
TRIVET_CONFIG(ConstantConfig, trivet::optim::WarmedConfig, (value, "The value.", required))

class Constant final : public Warmed {
 public:
  using Config = ConstantConfig;
  explicit Constant(const Config& config);

 private:
  double plain(std::int64_t step) const override;
  Config config_;
};

struct LinearConfig : WarmedConfig {
  double initial_value = 0;
  double final_value = 0;
  std::int64_t decay_steps = 0;
  std::int64_t offset = 0;
};
TRIVET_CONFIG(LinearConfig, trivet::optim::WarmedConfig,
              (initial_value, "The value at the start.", required),
              (final_value, "The value at the end and after it."),
              (decay_steps, "Steps from one to the other.", required, at_least(1)),
              (offset, "The step the decay begins at.", at_least(0)))

class Linear final : public Warmed {
 public:
  using Config = LinearConfig;
  explicit Linear(const Config& config);

 private:
  double plain(std::int64_t step) const override;
  Config config_;
};

struct CosineConfig : WarmedConfig {
  double initial_value = 0;
  double final_value = 0;
  std::int64_t decay_steps = 0;
  std::int64_t offset = 0;
};
TRIVET_CONFIG(CosineConfig, trivet::optim::WarmedConfig,
              (initial_value, "The value at the start.", required),
              (final_value, "The value at the end and after it."),
              (decay_steps, "Steps from one to the other.", required, at_least(1)),
              (offset, "The step the decay begins at.", at_least(0)))

class Cosine final : public Warmed {
 public:
  using Config = CosineConfig;
  explicit Cosine(const Config& config);

 private:
  double plain(std::int64_t step) const override;
  Config config_;
};

struct ExponentialConfig : WarmedConfig {
  double initial_value = 0;
  double decay_rate = 0;
  std::int64_t decay_steps = 0;
  bool staircase = false;
  double minimum = 0;
  std::int64_t offset = 0;
};
TRIVET_CONFIG(ExponentialConfig, trivet::optim::WarmedConfig,
              (initial_value, "The value at the start.", required),
              (decay_rate, "Factor per decay_steps.", required, more_than(0)),
              (decay_steps, "Steps until the factor is reached.", required, at_least(1)),
              (staircase, "Decays in steps instead of smoothly."),
              (minimum, "Never falls below this.", at_least(0)),
              (offset, "The step the decay begins at.", at_least(0)))

class Exponential final : public Warmed {
 public:
  using Config = ExponentialConfig;
  explicit Exponential(const Config& config);

 private:
  double plain(std::int64_t step) const override;
  Config config_;
};

struct PolynomialConfig : WarmedConfig {
  double initial_value = 0;
  double final_value = 0;
  std::int64_t decay_steps = 0;
  double power = 1;
  bool cycle = false;
  std::int64_t offset = 0;
};
TRIVET_CONFIG(PolynomialConfig, trivet::optim::WarmedConfig,
              (initial_value, "The value at the start.", required),
              (final_value, "The value at the end and after it."),
              (decay_steps, "Steps from one to the other.", required, at_least(1)),
              (power, "1: a straight line.", more_than(0)),
              (cycle, "Rises again after decay_steps, over ever longer cycles."),
              (offset, "The step the decay begins at.", at_least(0)))

class Polynomial final : public Warmed {
 public:
  using Config = PolynomialConfig;
  explicit Polynomial(const Config& config);

 private:
  double plain(std::int64_t step) const override;
  Config config_;
};

struct PiecewiseConfig : WarmedConfig {
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
  std::int64_t offset = 0;

  void validate(Problems& problems) const;
};
TRIVET_CONFIG(PiecewiseConfig, trivet::optim::WarmedConfig,
              (boundaries, "Steps at which the next value begins, rising.", at_least(0)),
              (values, "One more than there are boundaries.", required),
              (offset, "Added to every boundary.", at_least(0)))

class Piecewise final : public Warmed {
 public:
  using Config = PiecewiseConfig;
  explicit Piecewise(const Config& config);

 private:
  double plain(std::int64_t step) const override;
  Config config_;
};

}  // namespace trivet::optim
