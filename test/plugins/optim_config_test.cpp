// SPDX-License-Identifier: Apache-2.0
// The configs of all optimizers and schedules, through the round-trip check that plugin authors
// use.
#include <catch2/catch.hpp>

#include "optim/adam.h"
#include "optim/schedules.h"
#include "optim/sgd.h"
#include "trivet/testing/config_check.h"

namespace optim = trivet::optim;

namespace {

template <class C>
void check(const C& sample) {
  const auto report = trivet::testing::check_config(sample);
  INFO(trivet::schema_of<C>().name << "\n" << report.text());
  CHECK(report.passed());
}

}  // namespace

TEST_CASE("the configs of optimizers survive the way to a file and back") {
  optim::SgdConfig sgd;
  sgd.momentum = 0.5;
  sgd.nesterov = true;
  sgd.weight_decay = 0.25;
  sgd.exclude_from_weight_decay = {"norm"};
  check(sgd);
  check(optim::AdamConfig{});
  check(optim::AdamWConfig{});
}

TEST_CASE("the configs of schedules survive the way to a file and back") {
  optim::ConstantConfig constant;
  constant.value = 0.5;
  constant.warmup.steps = 3;
  check(constant);
  optim::LinearConfig linear;
  linear.decay_steps = 3;
  check(linear);
  optim::CosineConfig cosine;
  cosine.decay_steps = 3;
  check(cosine);
  optim::ExponentialConfig exponential;
  exponential.decay_steps = 3;
  exponential.decay_rate = 0.5;
  check(exponential);
  optim::PolynomialConfig polynomial;
  polynomial.decay_steps = 3;
  check(polynomial);
  optim::PiecewiseConfig piecewise;
  piecewise.boundaries = {2, 5};
  piecewise.values = {1, 2, 3};
  check(piecewise);
}
