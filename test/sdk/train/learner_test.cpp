// SPDX-License-Identifier: Apache-2.0
// Learner: clipping, segments, slots, and an optimizer's arguments.
#include "trivet/train/learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/layer/scope.h"
#include "trivet/train/learner_options.h"

namespace learner_test {
namespace {

using trivet::GradientClipConfig;
using trivet::OptimizerSegment;
using trivet::OptimizerStep;
using trivet::Parameter;
using trivet::RngKey;

trivet::MeshShards shards_of(std::int64_t count) {
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = {count, 1, 1};
  return {mesh, nullptr};
}

// Records its arguments, and takes plain steps: w -= lr * scale * g.
class Recorder final : public trivet::Optimizer {
 public:
  struct Seen {
    std::vector<OptimizerStep> steps;
    std::vector<std::int64_t> sizes, groups;  // of the last update's segments
  };
  explicit Recorder(Seen& seen, bool apart = false) : seen_(seen), apart_(apart) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }
  double slot_start(std::string_view slot) const override { return slot == "v" ? 0.5 : 0; }
  std::int64_t group_of(const Parameter& parameter) const override {
    return parameter.shape().rank() < 2 ? 1 : 0;
  }
  bool per_variable() const override { return apart_; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    seen_.steps.push_back(step);
    seen_.sizes.clear();
    seen_.groups.clear();
    for (OptimizerSegment& segment : segments) {
      seen_.sizes.push_back(segment.value.size());
      seen_.groups.push_back(segment.group);
      const auto w = segment.value.mutable_span<float>();
      const auto g = segment.gradient.span<float>();
      const auto rate = static_cast<float>(step.learning_rate) * step.gradient_scale;
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
      REQUIRE(segment.slots.size() == 2);
      for (float& m : segment.slots[0].mutable_span<float>()) m += 1;
    }
  }

 private:
  Seen& seen_;
  bool apart_;
};

class Rate final : public trivet::Schedule {
 public:
  explicit Rate(double factor) : factor_(factor) {}
  double value(std::int64_t step) const override { return factor_ * static_cast<double>(step + 1); }

 private:
  double factor_;
};

// Two matrices, two vectors, one more matrix: groups 0 0 1 1 0.
struct Fixture {
  std::unique_ptr<trivet::Device> device;
  std::unique_ptr<trivet::ParameterStore> store;
  Recorder::Seen seen;

  Fixture() : device(trivet::test::open_device(trivet::test::backends().back())) {
    store = std::make_unique<trivet::ParameterStore>(*device, RngKey(1));
    trivet::Scope scope(*store);
    scope.parameter("a", {2, 2}, constant());
    scope.parameter("b", {1, 3}, constant());
    scope.state("moving", {2}, 0);
    scope.parameter("c", {2}, constant());
    scope.parameter("d", {5}, constant());
    scope.parameter("e", {1, 1}, constant());
    store->build();
  }

  static trivet::ParameterOptions constant() { return {.init = {trivet::Init::constant, 1}}; }

  trivet::Learner learner(GradientClipConfig clip = {}, bool apart = false) {
    return trivet::Learner(*store, std::make_unique<Recorder>(seen, apart),
                           std::make_unique<Rate>(0.5), clip);
  }
  trivet::Learner learner(const trivet::MeshShards& shards) {
    std::vector<trivet::LearnerRule> rules;
    rules.push_back({.optimizer = std::make_unique<Recorder>(seen, false),
                     .learning_rate = std::make_unique<Rate>(0.5)});
    return {*store, std::move(rules), {}, shards};
  }
  void set_gradient(const std::string& path, const std::vector<float>& values) {
    const auto out = store->find(path)->gradient().mutable_span<float>();
    std::copy(values.begin(), values.end(), out.begin());
  }
  std::vector<float> gradient(const std::string& path) {
    return store->find(path)->gradient().to_host<float>();
  }
  std::vector<float> value(const std::string& path) {
    return store->find(path)->value().to_host<float>();
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "neighbors of one group are one segment") {
  trivet::Learner learner = this->learner();
  learner.begin().apply_gradients();
  // Offsets are multiples of 16: a 0..4, b 16..19, c 32..34, d 48..53, e 64..65.
  CHECK(seen.groups == std::vector<std::int64_t>{0, 1, 0});
  CHECK(seen.sizes == std::vector<std::int64_t>{19, 21, 1});
}

TEST_CASE_METHOD(Fixture, "an optimizer that works per variable gets a segment each") {
  trivet::Learner learner = this->learner({}, true);
  learner.begin().apply_gradients();
  CHECK(seen.sizes == std::vector<std::int64_t>{4, 3, 2, 5, 1});
}

TEST_CASE_METHOD(Fixture, "updates are counted, and the schedule sees updates already done") {
  trivet::Learner learner = this->learner();
  CHECK(learner.learning_rate() == 0.5);
  CHECK(learner.begin().apply_gradients().learning_rate == 0.5);
  CHECK(learner.begin().apply_gradients().learning_rate == 1.0);
  CHECK(learner.step() == 2);
  learner.set_step(9);
  CHECK(learner.begin().apply_gradients().learning_rate == 5.0);
  CHECK(seen.steps.back().step == 9);
}

TEST_CASE_METHOD(Fixture, "without clipping no norm is computed and gradients do not change") {
  set_gradient("a", {300, 0, 0, 400});
  trivet::Learner learner = this->learner();
  CHECK(learner.begin().apply_gradients().gradient_norm == -1);
  CHECK(seen.steps.back().gradient_scale == 1);
  CHECK(value("a") == std::vector<float>{-149, 1, 1, -199});  // 1 - 0.5 g
}

TEST_CASE_METHOD(Fixture, "clipping by global norm scales all gradients equally") {
  set_gradient("a", {3, 0, 0, 0});
  set_gradient("d", {0, 0, 0, 0, 4});
  trivet::Learner learner = this->learner({.global_norm = 1});
  CHECK(learner.begin().apply_gradients().gradient_norm == Approx(5));
  CHECK(seen.steps.back().gradient_scale == Approx(0.2));
  CHECK(gradient("a") == std::vector<float>{3, 0, 0, 0});
}

TEST_CASE_METHOD(Fixture, "gradients below the global norm are not scaled up") {
  set_gradient("a", {3, 4, 0, 0});
  trivet::Learner learner = this->learner({.global_norm = 5});
  CHECK(learner.begin().apply_gradients().gradient_norm == Approx(5));
  CHECK(seen.steps.back().gradient_scale == 1);
}

TEST_CASE_METHOD(Fixture, "gradients of zero are clipped to zero") {
  trivet::Learner learner = this->learner({.global_norm = 1, .per_variable_norm = 1});
  CHECK(learner.begin().apply_gradients().gradient_norm == 0);
  CHECK(value("a") == std::vector<float>(4, 1));
}

TEST_CASE_METHOD(Fixture, "clipping per variable scales only those above the norm") {
  set_gradient("a", {3, 4, 0, 0});
  set_gradient("c", {0.5f, 0});
  trivet::Learner learner = this->learner({.per_variable_norm = 1});
  CHECK(learner.begin().apply_gradients().gradient_norm == Approx(std::sqrt(25.25)));
  CHECK(gradient("a")[0] == Approx(0.6));
  CHECK(gradient("a")[1] == Approx(0.8));
  CHECK(gradient("c") == std::vector<float>{0.5f, 0});
  CHECK(seen.steps.back().gradient_scale == 1);
}

TEST_CASE_METHOD(Fixture, "clipping by value cuts each element, also to below zero") {
  set_gradient("a", {3, -4, 0.25f, 0});
  trivet::Learner learner = this->learner({.value = 1});
  CHECK(learner.begin().apply_gradients().gradient_norm == -1);
  CHECK(gradient("a") == std::vector<float>{1, -1, 0.25f, 0});
}

TEST_CASE_METHOD(Fixture, "values are clipped first, then variables, then everything") {
  set_gradient("a", {30, 40, 0, 0});  // by value (6, 6): norm 8.485; per variable 2
  set_gradient("c", {0.6f, 0.8f});    // norm 1 throughout
  trivet::Learner learner = this->learner({.global_norm = 1, .per_variable_norm = 2, .value = 6});
  CHECK(learner.begin().apply_gradients().gradient_norm == Approx(std::sqrt(72 + 1)));
  CHECK(gradient("a")[0] == Approx(std::sqrt(2.0)));
  CHECK(seen.steps.back().gradient_scale == Approx(1 / std::sqrt(5.0)));
}

TEST_CASE_METHOD(Fixture, "gradients that are not finite stop the update and name the variable") {
  const float bad =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  set_gradient("c", {0, bad});
  trivet::Learner learner = this->learner({.global_norm = 1});
  learner.set_step(41);
  try {
    learner.begin().apply_gradients();
    FAIL("no error");
  } catch (const trivet::Error& error) {
    CHECK_THAT(error.what(), Catch::Contains("update 41") && Catch::Contains("'c'") &&
                                 Catch::Contains("learning rate 21"));
  }
  CHECK(learner.step() == 41);
  CHECK(seen.steps.empty());
  CHECK(value("c") == std::vector<float>{1, 1});
}

TEST_CASE_METHOD(Fixture, "each part of an update is clipped, and not their mean") {
  // Norms 5, cut to 1: (0.6, 0.8); and 0.5, which stays: (0, -0.5). Their mean with weights 1 and
  // 3 is (0.15, -0.175), which stays as it is.
  for (const bool each_part : {true, false}) {
    Fixture fixture;
    trivet::Learner learner = fixture.learner({.global_norm = 1, .each_part = each_part});
    trivet::Learner::Step step = learner.begin({.parts = 2});
    fixture.set_gradient("c", {3, 4});
    CHECK_FALSE(step.apply_gradients(1).applied);
    fixture.set_gradient("c", {0, -0.5});
    const trivet::Learner::Update update = step.apply_gradients(3);
    CHECK(update.applied);
    const std::vector<float> c = fixture.value("c");
    if (each_part) {
      CHECK(update.gradient_norm == Approx(std::hypot(0.15, 0.175)));
      CHECK(c[0] == Approx(1 - 0.5 * 0.15));
      CHECK(c[1] == Approx(1 + 0.5 * 0.175));
    } else {
      CHECK(update.gradient_norm == Approx(std::hypot(0.75, 0.625)));
      CHECK(c[0] == Approx(1 - 0.5 * 0.75));
    }
  }
}

TEST_CASE_METHOD(Fixture, "shards are added by halves, and the parts of one from left to right") {
  // In float 1e8 + 1 is 1e8. Left to right the four sum up to 1, by halves to 0.
  const std::vector<float> gradients = {1e8F, 1, -1e8F, 1};
  const auto c_after = [&](std::int64_t parts, const trivet::MeshShards& shards) {
    Fixture fixture;
    trivet::Learner learner = fixture.learner(shards);
    trivet::Learner::Step step = learner.begin({.parts = parts});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      fixture.set_gradient("c", {gradients[i], 0});
      CHECK(step.apply_gradients().applied == (i + 1 == gradients.size()));
    }
    CHECK_THROWS_WITH(step.apply_gradients(), Catch::Contains("has had its 4 parts"));
    return fixture.value("c")[0];
  };
  CHECK(c_after(4, {}) == 1 - 0.5F * 0.25F);
  CHECK(c_after(1, shards_of(4)) == 1);
  // Two shards of two parts are the same halves.
  CHECK(c_after(2, shards_of(2)) == 1);
}

TEST_CASE_METHOD(Fixture, "shards count by their weights, update after update") {
  for (const std::int64_t count : {1, 3, 6}) {
    trivet::Learner learner = this->learner(shards_of(count));
    for (int round = 0; round < 2; ++round) {
      const float before = value("c")[1];
      const double rate = learner.learning_rate();
      trivet::Learner::Step step = learner.begin();
      double sum = 0, weights = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto weight = static_cast<double>(2 * i + 1), gradient = static_cast<double>(i - 1);
        set_gradient("c", {0, static_cast<float>(gradient)});
        step.apply_gradients(weight);
        sum += weight * gradient;
        weights += weight;
      }
      CHECK(value("c")[1] == Approx(static_cast<double>(before) - rate * sum / weights));
    }
  }
}

TEST_CASE_METHOD(Fixture, "a part whose gradients are not finite ends or skips the update") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool skips : {true, false}) {
    Fixture fixture;
    std::vector<trivet::LearnerRule> rules;
    rules.push_back({.optimizer = std::make_unique<Recorder>(fixture.seen),
                     .learning_rate = std::make_unique<Rate>(0.5)});
    trivet::Learner learner(
        *fixture.store, std::move(rules),
        {.clip = {.global_norm = 1, .each_part = true}, .skip_bad_updates = skips});
    trivet::Learner::Step step = learner.begin({.parts = 2});
    fixture.set_gradient("c", {nan, 1});
    if (!skips) {
      CHECK_THROWS_WITH(step.apply_gradients(), Catch::Contains("first in 'c'"));
      continue;
    }
    CHECK_FALSE(step.apply_gradients().applied);
    fixture.set_gradient("c", {1, 1});
    CHECK(step.apply_gradients().skipped);
    CHECK(fixture.value("c") == std::vector<float>{1, 1});
  }
}

TEST_CASE_METHOD(Fixture, "a learning rate that is not finite is an error") {
  trivet::Learner learner(*store, std::make_unique<Recorder>(seen),
                          std::make_unique<Rate>(std::numeric_limits<double>::quiet_NaN()));
  CHECK_THROWS_WITH(learner.begin().apply_gradients(), Catch::Contains("learning rate"));
}

TEST_CASE_METHOD(Fixture, "slots have the parameter's path and shape, and are the live ones") {
  trivet::Learner learner = this->learner();
  const auto slots = learner.slots();
  REQUIRE(slots.size() == 10);
  CHECK(slots[0].first == "a/m");
  CHECK(slots[1].first == "a/v");
  CHECK(slots[4].first == "c/m");
  CHECK(slots[0].second.shape() == trivet::Shape{2, 2});
  CHECK(slots[1].second.to_host<float>() == std::vector<float>(4, 0.5f));
  learner.begin().apply_gradients();
  CHECK(slots[0].second.to_host<float>() == std::vector<float>(4, 1));
}

TEST_CASE("a schedule is asked once for the rate of an update") {
  class Counted final : public trivet::Schedule {
   public:
    explicit Counted(std::vector<std::int64_t>& asked) : asked_(asked) {}
    double value(std::int64_t step) const override {
      asked_.push_back(step);
      return 0.1;
    }

   private:
    std::vector<std::int64_t>& asked_;
  };
  Fixture fixture;
  std::vector<std::int64_t> asked;
  trivet::Learner learner(*fixture.store, std::make_unique<Recorder>(fixture.seen),
                          std::make_unique<Counted>(asked));
  for (int i = 0; i < 3; ++i) {
    CHECK(learner.learning_rate() == 0.1);
    CHECK(learner.learning_rates().front().second == 0.1);
    CHECK(learner.begin().apply_gradients().learning_rate == 0.1);
  }
  CHECK(asked == std::vector<std::int64_t>{0, 1, 2});
  learner.set_step(1);
  CHECK(learner.learning_rate() == 0.1);
  CHECK(asked.back() == 1);
}

}  // namespace learner_test
