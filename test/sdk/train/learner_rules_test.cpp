// SPDX-License-Identifier: Apache-2.0
// Learner: several optimizers, frozen variables, accumulation and the average of weights.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"

namespace learner_rules_test {
namespace {

using trivet::LearnerRule;
using trivet::OptimizerSegment;
using trivet::OptimizerStep;
using trivet::Patterns;
using trivet::RngKey;
using Values = std::vector<float>;

// w -= lr scale g, counting updates of each number in a slot.
class Plain final : public trivet::Optimizer {
 public:
  explicit Plain(std::string slot = "count") : slot_(std::move(slot)) {}
  std::vector<std::string> slots() const override { return {slot_}; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) {
      CHECK(segment.parameter == nullptr);
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto rate = static_cast<float>(step.learning_rate) * step.gradient_scale;
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
      for (float& count : segment.slots[0].mutable_span<float>()) count += 1;
    }
  }

 private:
  std::string slot_;
};

class Rate final : public trivet::Schedule {
 public:
  explicit Rate(double value) : value_(value) {}
  double value(std::int64_t) const override { return value_; }

 private:
  double value_;
};

LearnerRule rule(const std::string& name, const std::vector<std::string>& variables, double rate,
                 const std::string& slot = "count") {
  return {name, Patterns(variables), std::make_unique<Plain>(slot), std::make_unique<Rate>(rate)};
}

template <class... Rules>
std::vector<LearnerRule> rules(Rules... each) {
  std::vector<LearnerRule> out;
  (out.push_back(std::move(each)), ...);
  return out;
}

// "body/a" [3], "head/w" [2, 2], "body/b" [20], all 1, gradients 1; a state "mean".
struct Fixture {
  Fixture() : device(trivet::test::open_device(GENERATE(from_range(trivet::test::backends())))) {
    store = std::make_unique<trivet::ParameterStore>(*device, RngKey(1));
    for (const auto& [path, shape] : std::vector<std::pair<std::string, trivet::Shape>>{
             {"body/a", {3}}, {"head/w", {2, 2}}, {"body/b", {20}}}) {
      store->add(path, shape, {.init = {trivet::Init::constant, 1}});
    }
    store->add("mean", {2}, {.init = {trivet::Init::constant, 5}, .trainable = false});
  }
  void build() {
    store->build();
    set_gradients(1);
  }
  void set_gradients(float value) {
    for (const auto& parameter : store->parameters()) {
      if (!parameter->trainable()) continue;
      for (float& g : parameter->gradient().mutable_span<float>()) g = value;
    }
  }
  trivet::Learner learner(std::vector<LearnerRule> list, trivet::LearnerOptions options = {}) {
    return trivet::Learner(*store, std::move(list), options);
  }
  Values value(const std::string& path) { return store->find(path)->value().to_host<float>(); }

  std::unique_ptr<trivet::Device> device;
  std::unique_ptr<trivet::ParameterStore> store;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "each variable is updated by the rule that matches it, and by no other") {
  build();
  trivet::Learner learner =
      this->learner(rules(rule("", {}, 0.25), rule("head", {"head/.*"}, 0.5, "other")));
  learner.begin().apply_gradients();
  CHECK(value("body/a") == Values(3, 0.75f));
  CHECK(value("body/b") == Values(20, 0.75f));
  CHECK(value("head/w") == Values(4, 0.5f));
  CHECK(value("mean") == Values(2, 5));
  std::vector<std::string> names;
  for (const auto& [name, slot] : learner.slots()) {
    names.push_back(name);
    const auto counts = slot.to_host<float>();
    CHECK(counts == Values(counts.size(), 1));
  }
  CHECK(names == std::vector<std::string>{"body/a/count", "body/b/count", "head/w/other"});
  CHECK(learner.learning_rates() ==
        std::vector<std::pair<std::string, double>>{{"", 0.25}, {"head", 0.5}});
}

TEST_CASE_METHOD(Fixture, "clipping sees the gradients of all rules together") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 1), rule("head", {"head/.*"}, 1)),
                                          {.clip = {.global_norm = 1}});
  CHECK(learner.begin().apply_gradients().gradient_norm == Approx(std::sqrt(27.0)));
  CHECK(value("head/w")[0] == Approx(1 - 1 / std::sqrt(27.0)));
}

TEST_CASE_METHOD(Fixture, "variables of no rule or two are listed") {
  build();
  try {
    learner(rules(rule("x", {"body/.*"}, 1), rule("y", {".*/a"}, 1)));
    FAIL("no error");
  } catch (const trivet::ConfigError& error) {
    CHECK_THAT(error.what(),
               Catch::Contains("head/w: none") && Catch::Contains("body/a: 'x' and 'y'") &&
                   Catch::Contains("trainer.learners") && !Catch::Contains("body/b:"));
  }
}

TEST_CASE_METHOD(Fixture, "a rule without variables is an error") {
  build();
  CHECK_THROWS_WITH(learner(rules(rule("", {}, 1), rule("head", {"head"}, 1))),
                    Catch::Contains("'head' matches no trainable variable"));
}

TEST_CASE_METHOD(Fixture, "frozen variables have no gradient and no slots, and keep their values") {
  trivet::freeze(*store, {"body/.*"});
  build();
  CHECK_FALSE(store->find("body/a")->trainable());
  CHECK_FALSE(store->find("body/b")->value().requires_grad());
  CHECK(store->trainable_count() == 4);
  CHECK(store->count() == 29);
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.5)));
  learner.begin().apply_gradients();
  CHECK(value("body/a") == Values(3, 1));
  CHECK(value("head/w") == Values(4, 0.5f));
  REQUIRE(learner.slots().size() == 1);
  CHECK(learner.slots()[0].first == "head/w/count");
}

TEST_CASE_METHOD(Fixture, "freezing everything, or nothing by a typo, is an error") {
  CHECK_THROWS_WITH(trivet::freeze(*store, {"bdy/.*"}), Catch::Contains("'bdy/.*'"));
  CHECK_THROWS_WITH(trivet::freeze(*store, {".*"}), Catch::Contains("every variable is frozen"));
}

TEST_CASE_METHOD(Fixture, "nothing can be frozen after the model was built") {
  build();
  CHECK_THROWS_WITH(trivet::freeze(*store, {"body/.*"}), Catch::Contains("body/a"));
}

TEST_CASE_METHOD(Fixture, "accumulated gradients are one update by their weighted mean") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 1)), {.clip = {.global_norm = 1000}});
  for (int round = 1; round <= 2; ++round) {
    trivet::Learner::Step step = learner.begin({.parts = 3});
    set_gradients(0.5f);
    CHECK_FALSE(step.apply_gradients(1).applied);
    set_gradients(-1);
    CHECK_FALSE(step.apply_gradients(2).applied);
    CHECK(learner.step() == round - 1);
    set_gradients(2);
    const auto update = step.apply_gradients(5);
    // (0.5 - 2 + 10) / 8 = 1.0625 for each of 27 numbers.
    CHECK(update.applied);
    CHECK(update.gradient_norm == Approx(1.0625 * std::sqrt(27.0)));
    CHECK(learner.step() == round);
    CHECK(value("body/b") == Values(20, 1 - 1.0625f * static_cast<float>(round)));
  }
}

TEST_CASE_METHOD(Fixture, "an unfinished update is discarded") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 1)));
  set_gradients(100);
  learner.begin({.parts = 2}).apply_gradients();
  {
    trivet::Learner::Step step = learner.begin({.parts = 2});
    set_gradients(0.5f);
    step.apply_gradients();
    step.apply_gradients();
  }
  CHECK(value("head/w") == Values(4, 0.5f));
  learner.begin().apply_gradients();
  CHECK(value("head/w") == Values(4, 0));
}

TEST_CASE_METHOD(Fixture, "updates come one after the other, each with the parts it began with") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.5)));
  CHECK_THROWS_WITH(learner.begin({.parts = 0}), Catch::Contains("at least one batch"));
  {
    trivet::Learner::Step step = learner.begin({.parts = 2});
    CHECK_THROWS_WITH(learner.begin(), Catch::Contains("is under way"));
    step.apply_gradients();
    step.apply_gradients();
    CHECK_THROWS_WITH(step.apply_gradients(), Catch::Contains("has had its 2 parts"));
  }
  CHECK(learner.step() == 1);
  CHECK(value("head/w") == Values(4, 0.5f));
  CHECK(learner.begin().apply_gradients().applied);
}

TEST_CASE_METHOD(Fixture, "batches without examples change nothing") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 1)));
  trivet::Learner::Step step = learner.begin({.parts = 2});
  step.apply_gradients(0);
  step.apply_gradients(0);
  CHECK(value("head/w") == Values(4, 1));
}

// Weights 0.95, 1.05 and 0.85 after three updates from 1; averages by the formula of EmaConfig.
TEST_CASE_METHOD(Fixture, "the average of weights follows its formula from the first update on") {
  build();
  const auto averages = [&](trivet::EmaConfig ema, std::vector<double> expected) {
    const Values ones(4, 1);
    trivet::Tensor w = store->find("head/w")->value();
    w.assign_bytes(std::as_bytes(std::span(ones)));
    trivet::Learner learner = this->learner(rules(rule("", {}, 0.1)), {.ema = ema});
    const auto live = learner.averages();
    REQUIRE(live.size() == 3);
    CHECK(live[1].first == "head/w");
    for (std::size_t i = 0; i < 3; ++i) {
      set_gradients(std::array{0.5f, -1.0f, 2.0f}[i]);
      learner.begin().apply_gradients();
      for (const float average : live[1].second.to_host<float>()) {
        CHECK(static_cast<double>(average) == Approx(expected[i]).epsilon(1e-6));
      }
    }
  };
  averages({.decay = 0.99}, {0.9590909090909091, 1.0272727272727273, 0.9045454545454545});
  averages({.decay = 0.9, .dynamic_decay = false}, {0.995, 1.0005, 0.98545});
  averages({.decay = 0.9, .dynamic_decay = false, .start_step = 2}, {0.95, 0.96, 0.949});
  averages({.decay = 0.15, .start_step = 2}, {0.95, 1.04, 0.8785});
  // Pax' averages are those of one update earlier.
  averages({.decay = 0.99, .before_update = true}, {1, 0.9590909090909091, 1.0272727272727273});
  averages({.decay = 0.9, .dynamic_decay = false, .before_update = true}, {1, 0.995, 1.0005});
}

TEST_CASE_METHOD(Fixture, "averages replace the weights temporarily, bit for bit") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.3)), {.ema = {.decay = 0.9}});
  {
    const trivet::Learner::UseAverages before(learner);  // nothing is averaged yet
    CHECK(value("body/a") == Values(3, 1));
  }
  learner.begin().apply_gradients();
  set_gradients(0.7f);
  learner.begin().apply_gradients();
  const Values weights = value("body/b");
  const Values average = learner.averages()[2].second.to_host<float>();
  CHECK(weights != average);
  {
    const trivet::Learner::UseAverages use(learner);
    CHECK(value("body/b") == average);
    CHECK(value("mean") == Values(2, 5));
  }
  CHECK(value("body/b") == weights);
  CHECK(learner.averages()[2].second.to_host<float>() == average);
}

TEST_CASE_METHOD(Fixture, "states are averaged with the weights if configured") {
  build();
  trivet::Learner learner = this->learner(
      rules(rule("", {}, 0.3)),
      {.ema = {.decay = 0.9, .trainable_weights_only = false, .dynamic_decay = false}});
  const auto set_mean = [&](float value) {
    const Values both(2, value);
    trivet::Tensor mean = store->find("mean")->value();
    mean.assign_bytes(std::as_bytes(std::span(both)));
  };
  const auto averaged = [&] {
    for (const auto& [path, average] : learner.averages()) {
      if (path == "mean") return average.to_host<float>();
    }
    return Values{};
  };
  learner.begin().apply_gradients();
  CHECK(averaged() == Values(2, 5));
  set_mean(7);
  learner.begin().apply_gradients();
  for (const float value : averaged()) CHECK(value == Approx(0.9 * 5 + 0.1 * 7).epsilon(1e-6));
  const Values average = averaged();
  {
    const trivet::Learner::UseAverages use(learner);
    CHECK(value("mean") == average);
  }
  CHECK(value("mean") == Values(2, 7));
  CHECK(learner.averages().size() == 4);
}

TEST_CASE_METHOD(Fixture, "an average can restart at weights from elsewhere") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.3)), {.ema = {.decay = 0.9}});
  learner.begin().apply_gradients();
  learner.restart_average();
  CHECK(learner.averages()[0].second.to_host<float>() == value("body/a"));
}

TEST_CASE_METHOD(Fixture, "without ema there is no average") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.5)));
  learner.begin().apply_gradients();
  CHECK(learner.averages().empty());
  const trivet::Learner::UseAverages nothing(learner);
  CHECK(value("body/a") == Values(3, 0.5f));
}

TEST_CASE_METHOD(Fixture, "bad updates are skipped if configured, for any bad part") {
  build();
  trivet::Learner learner =
      this->learner(rules(rule("", {}, 0.5)), {.ema = {.decay = 0.9}, .skip_bad_updates = true});
  const trivet::LearnerStepOptions bound{.loss_bound = 10};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto loss = [&](float value) { return trivet::Tensor::scalar(*device, value); };

  CHECK(learner.begin(bound).apply_gradients(1, loss(nan)).skipped);
  CHECK(learner.begin(bound).apply_gradients(1, loss(10.5f)).skipped);
  {
    trivet::Learner::Step step = learner.begin({.parts = 2, .loss_bound = 10});
    CHECK_FALSE(step.apply_gradients(1, loss(nan)).skipped);
    CHECK(step.apply_gradients(1, loss(1)).skipped);
  }
  {
    // The bound is on the mean, (3 * 4 + 1 * 30) / 4 = 10.5.
    trivet::Learner::Step step = learner.begin({.parts = 2, .loss_bound = 10.4});
    step.apply_gradients(3, loss(4));
    CHECK(step.apply_gradients(1, loss(30)).skipped);
  }
  set_gradients(nan);
  {
    trivet::Learner::Step step = learner.begin(bound);
    CHECK(step.apply_gradients(1, loss(1)).skipped);
    CHECK(step.last_update().skipped);
  }
  set_gradients(2);
  const double norm = 2 * std::sqrt(27.0);  // of 27 gradients
  const auto by_norm = learner.begin({.gradient_norm_bound = 0.999 * norm}).apply_gradients(1);
  CHECK(by_norm.skipped);
  CHECK(by_norm.gradient_norm == Approx(norm));
  CHECK(learner.step() == 0);
  CHECK(value("body/a") == Values(3, 1));
  CHECK(learner.slots()[0].second.to_host<float>() == Values(3, 0));

  set_gradients(1);
  {
    trivet::Learner::Step step = learner.begin({.parts = 2, .loss_bound = 10.6});
    step.apply_gradients(3, loss(4));
    CHECK(step.apply_gradients(1, loss(30)).applied);
  }
  CHECK(learner.step() == 1);
  CHECK(value("body/a") == Values(3, 0.5f));
  CHECK(learner.begin(bound).apply_gradients(1, loss(10)).applied);
}

TEST_CASE_METHOD(Fixture, "a variable without a gradient keeps its value and its slots") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.5)));
  // "body/a" is in one segment with others, or alone.
  const std::string absent = GENERATE("body/a", "head/w", "body/b");
  store->find(absent)->set_has_gradient(false);
  learner.begin().apply_gradients();
  store->find(absent)->set_has_gradient(true);
  learner.begin().apply_gradients();
  for (const auto& [path, slot] : learner.slots()) {
    const std::string variable = path.substr(0, path.rfind('/'));
    INFO(variable);
    const float updates = variable == absent ? 1 : 2;
    const auto counts = slot.to_host<float>();
    CHECK(counts == Values(counts.size(), updates));
    CHECK(value(variable) == Values(counts.size(), 1 - 0.5f * updates));
  }
  CHECK(learner.step() == 2);
}

TEST_CASE_METHOD(Fixture, "an update without any gradient is counted, and changes nothing") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 0.5)));
  for (const auto& parameter : store->parameters()) parameter->set_has_gradient(false);
  CHECK(learner.begin().apply_gradients().applied);
  CHECK(learner.step() == 1);
  CHECK(value("body/b") == Values(20, 1));
}

TEST_CASE_METHOD(Fixture, "a gradient in one part of an update is averaged over the parts") {
  build();
  trivet::Learner learner = this->learner(rules(rule("", {}, 1)));
  {
    trivet::Learner::Step step = learner.begin({.parts = 2});
    set_gradients(0.5f);
    store->find("body/b")->set_has_gradient(false);
    step.apply_gradients();
    store->begin_gradients();
    store->find("body/a")->slot().written = true;
    store->end_gradients();  // head/w in the first part only, body/b in none
    step.apply_gradients();
  }
  CHECK(value("body/a") == Values(3, 0.5f));
  CHECK(value("head/w") == Values(4, 0.75f));
  CHECK(value("body/b") == Values(20, 1));
  // The next update starts from what its own parts have.
  trivet::Learner::Step step = learner.begin({.parts = 2});
  set_gradients(0.25f);
  for (int part = 0; part < 2; ++part) {
    store->find("body/a")->set_has_gradient(false);
    step.apply_gradients();
  }
  CHECK(value("body/a") == Values(3, 0.5f));
}

TEST_CASE_METHOD(Fixture, "norms are of the gradients there are, averages of all weights") {
  build();
  trivet::Learner learner =
      this->learner(rules(rule("", {}, 1)),
                    {.clip = {.global_norm = 1}, .ema = {.decay = 0.5, .dynamic_decay = false}});
  learner.begin().apply_gradients();
  const float before = learner.averages()[0].second.to_host<float>()[0];
  set_gradients(1);
  store->begin_gradients();
  store->find("head/w")->slot().written = true;
  store->end_gradients();
  CHECK(learner.begin().apply_gradients().gradient_norm == Approx(2));  // four ones
  const float w = value("body/a")[0];
  CHECK(learner.averages()[0].second.to_host<float>()[0] == Approx((before + w) / 2));
  CHECK(before != Approx(w));
}

}  // namespace learner_rules_test
