// SPDX-License-Identifier: Apache-2.0
// The configs of all optimizers and schedules, through the round-trip check that plugin authors
// use.
#include <catch2/catch.hpp>

#include "optim/adafactor.h"
#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/lamb.h"
#include "optim/lars.h"
#include "optim/lion.h"
#include "optim/rms_prop.h"
#include "optim/schedules/schedules.h"
#include "optim/sgd.h"
#include "optim/shampoo/shampoo.h"
#include "plugins/config_round_trip.h"

namespace optim = trivet::optim;
using trivet::test::check_round_trip;
using trivet::test::check_round_trip_with;

TEST_CASE("the configs of optimizers survive the way to a file and back") {
  optim::SgdConfig sgd;
  sgd.momentum = 0.5;
  sgd.nesterov = true;
  sgd.weight_decay = 0.25;
  sgd.exclude_from_weight_decay = {"norm"};
  check_round_trip(sgd);
  check_round_trip(optim::AdamConfig{});
  check_round_trip(optim::AdamWConfig{});
  check_round_trip(optim::LambConfig{});
  optim::LarsConfig lars;
  lars.exclude_from_layer_adaptation = {"bias", "norm"};
  check_round_trip(lars);
  optim::LionConfig lion;
  lion.m_dtype = optim::MomentumDtype::bfloat16;
  check_round_trip(lion);
  check_round_trip(optim::AdagradConfig{});
  optim::AdafactorConfig adafactor;
  adafactor.beta1 = 0.9;
  adafactor.quantized_dtype = optim::QuantizedDtype::int8;
  check_round_trip(adafactor);
  check_round_trip(optim::RmsPropConfig{});
  check_round_trip(optim::ShampooConfig{});
}

TEST_CASE("the configs of schedules survive the way to a file and back") {
  optim::ConstantConfig constant;
  constant.value = 0.5;
  constant.warmup.steps = 3;
  check_round_trip(constant);
  const auto over_three_steps = [](auto& config) { config.decay_steps = 3; };
  check_round_trip_with<optim::LinearConfig>(over_three_steps);
  check_round_trip_with<optim::CosineConfig>(over_three_steps);
  check_round_trip_with<optim::PolynomialConfig>(over_three_steps);
  optim::ExponentialConfig exponential;
  exponential.decay_steps = 3;
  exponential.decay_rate = 0.5;
  check_round_trip(exponential);
  optim::PiecewiseConfig piecewise;
  piecewise.boundaries = {2, 5};
  piecewise.values = {1, 2, 3};
  check_round_trip(piecewise);
  check_round_trip(optim::PowerConfig{});
  optim::PowerLinearConfig power_linear;
  power_linear.total_decay_steps = 10;
  check_round_trip(power_linear);
  optim::PowerWithOffsetConfig power_with_offset;
  power_with_offset.offset = 10;
  check_round_trip(power_with_offset);
  optim::StepCosineConfig step_cosine;
  step_cosine.boundaries = {0, 5};
  step_cosine.values = {1, 2};
  check_round_trip(step_cosine);
}
