// SPDX-License-Identifier: Apache-2.0
// Variational noise: on the weights while gradients are computed, never in the updated weights.
// Noise on gradients: after clipping, drawn for each update.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/scope.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"

namespace noise_test {
namespace {

using namespace trivet;

// w -= lr * g.
class Descent final : public Optimizer {
 public:
  std::vector<std::string> slots() const override { return {}; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) {
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto rate = static_cast<float>(step.learning_rate) * step.gradient_scale;
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
    }
  }
};

class Half final : public Schedule {
 public:
  double value(std::int64_t) const override { return 0.5; }
};

struct Fixture {
  std::unique_ptr<Device> device = test::open_device(test::backends().back());
  ParameterStore store{*device, RngKey(1)};

  Fixture() {
    Scope scope(store);
    scope.child("body").parameter("w", {40, 50}, {.init = {Init::constant, 1}});
    scope.child("head").parameter("w", {3}, {.init = {Init::constant, 2}});
    scope.state("moving", {2}, 0);
    store.build();
  }
  Learner learner(LearnerOptions options) {
    std::vector<LearnerRule> rules;
    rules.push_back(
        {.optimizer = std::make_unique<Descent>(), .learning_rate = std::make_unique<Half>()});
    return Learner(store, std::move(rules), std::move(options));
  }
  Learner learner(VariationalNoiseConfig noise) {
    return learner(LearnerOptions{.variational_noise = std::move(noise)});
  }
  // One update of gradients that are the weights; gives the first variable's noise: what the
  // update has in excess of `share` of the gradient.
  std::vector<float> noise_of(Learner& learner, std::uint64_t key, float share) {
    const auto before = value("body/w");
    set_gradients();
    Learner::Step step = learner.begin();
    step.begin_part(RngKey(key));
    step.apply_gradients();
    std::vector<float> noise = value("body/w");
    for (std::size_t i = 0; i < noise.size(); ++i) {
      noise[i] = (before[i] - noise[i]) / 0.5F - share * before[i];
    }
    return noise;
  }
  std::vector<float> value(const char* path) { return store.find(path)->value().to_host<float>(); }
  // The gradient of half the square is the weight itself.
  void set_gradients() {
    for (const char* path : {"body/w", "head/w"}) {
      const auto values = value(path);
      const auto out = store.find(path)->gradient().mutable_span<float>();
      std::copy(values.begin(), values.end(), out.begin());
    }
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture,
                 "the gradient is computed at noisy weights, the step starts from clean ones") {
  Learner learner = this->learner({.scale = 0.25, .variables = {}});
  const std::vector<float> before = value("body/w");
  Learner::Step step = learner.begin();
  step.begin_part(RngKey(7));
  const std::vector<float> noisy = value("body/w");
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    const double noise = noisy[i] - before[i];
    sum += noise;
    squares += noise * noise;
  }
  const auto n = static_cast<double>(noisy.size());
  // 2000 draws: the mean has deviation 0.0056, the variance 0.002.
  CHECK(sum / n == Approx(0).margin(0.028));
  CHECK(squares / n == Approx(0.0625).margin(0.01));
  set_gradients();
  step.apply_gradients();
  const std::vector<float> after = value("body/w");
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == before[i] - 0.5F * noisy[i]);
}

TEST_CASE_METHOD(Fixture, "variational noise is drawn from the pass and the variable") {
  Learner learner = this->learner({.scale = 1, .variables = {}});
  {
    Learner::Step step = learner.begin();
    step.begin_part(RngKey(7));
    const auto first = value("head/w");
    step.begin_part(RngKey(8));
    CHECK(value("head/w") != first);
    step.begin_part(RngKey(7));
    CHECK(value("head/w") == first);
    CHECK(first[0] - 2 != value("body/w")[0] - 1);
  }  // as a step that failed, without its update
  CHECK(value("head/w") == std::vector<float>{2, 2, 2});
  CHECK(value("moving") == std::vector<float>{0, 0});
}

TEST_CASE_METHOD(Fixture, "each part of an update has its own noise") {
  Learner learner = this->learner({.scale = 1, .variables = {}});
  Learner::Step step = learner.begin({.parts = 2});
  std::vector<float> sum(3);
  for (const std::uint64_t part : {1, 2}) {
    step.begin_part(RngKey(part));
    const auto noisy = value("head/w");
    for (std::size_t i = 0; i < 3; ++i) sum[i] += noisy[i] / 2;
    set_gradients();
    step.apply_gradients();
  }
  const auto after = value("head/w");
  for (std::size_t i = 0; i < 3; ++i) CHECK(after[i] == Approx(2 - 0.5 * sum[i]).margin(1e-6));
}

TEST_CASE_METHOD(Fixture, "noise starts at its step, on its variables") {
  Learner learner = this->learner({.scale = 1, .variables = {"head/.*"}, .start_step = 1});
  {
    Learner::Step step = learner.begin();
    step.begin_part(RngKey(7));
    CHECK(value("head/w") == std::vector<float>{2, 2, 2});
    set_gradients();
    step.apply_gradients();
  }
  Learner::Step step = learner.begin();
  step.begin_part(RngKey(7));
  CHECK(value("head/w") != std::vector<float>{1, 1, 1});
  const auto body = value("body/w");
  CHECK(std::set<float>(body.begin(), body.end()) == std::set<float>{0.5F});
}

TEST_CASE_METHOD(Fixture, "noise for no variable is refused") {
  CHECK_THROWS_WITH(learner({.scale = 1, .variables = {"head"}}),
                    Catch::Contains("trainer.variational_noise.variables") &&
                        Catch::Contains("match no trainable variable"));
  VariationalNoiseConfig config;
  config.variables = {"("};
  Diagnostics diagnostics;
  config.validate(diagnostics);
  CHECK(diagnostics.list().size() == 1);
}

TEST_CASE_METHOD(Fixture, "gradients get noise after they are clipped") {
  // The norm of the gradients is sqrt(2000 * 1 + 3 * 4) = 44.855; clipped to a tenth.
  const float share = static_cast<float>(4.4855 / std::sqrt(2012.0));
  Learner learner =
      this->learner({.clip = {.global_norm = 4.4855}, .gradient_noise = {.stddev = 0.25}});
  const auto noise = noise_of(learner, 7, share);
  double sum = 0, squares = 0;
  for (const float draw : noise) {
    sum += draw;
    squares += draw * draw;
  }
  // 2000 draws: the mean has deviation 0.0056, the variance 0.002.
  CHECK(sum / 2000 == Approx(0).margin(0.028));
  CHECK(squares / 2000 == Approx(0.0625).margin(0.01));
  CHECK(value("moving") == std::vector<float>{0, 0});
}

TEST_CASE_METHOD(Fixture, "noise on gradients is drawn from the key of the first pass") {
  const auto drawn = [](std::uint64_t key) {
    Fixture fixture;
    Learner learner = fixture.learner({.gradient_noise = {.stddev = 1}});
    return fixture.noise_of(learner, key, 1);
  };
  CHECK(drawn(7) == drawn(7));
  CHECK(drawn(7) != drawn(8));

  const auto of_two_parts = [](std::uint64_t first, std::uint64_t second) {
    Fixture fixture;
    Learner learner = fixture.learner({.gradient_noise = {.stddev = 1}});
    Learner::Step step = learner.begin({.parts = 2});
    for (const std::uint64_t key : {first, second}) {
      fixture.set_gradients();
      step.begin_part(RngKey(key));
      step.apply_gradients();
    }
    return fixture.value("body/w");
  };
  CHECK(of_two_parts(7, 1) == of_two_parts(7, 2));
  CHECK(of_two_parts(7, 1) != of_two_parts(8, 1));
}

TEST_CASE_METHOD(Fixture, "noise on gradients without the key of a pass is an error") {
  Learner learner = this->learner({.gradient_noise = {.stddev = 1}});
  set_gradients();
  CHECK_THROWS_WITH(learner.begin().apply_gradients(), Catch::Contains("begin_part"));
}

}  // namespace noise_test
