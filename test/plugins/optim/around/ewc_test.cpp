// SPDX-License-Identifier: Apache-2.0
// Elastic weight consolidation around any optimizer: its formula by hand, importances, and slots.
#include "optim/around/ewc.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"

namespace optim_ewc_test {

using namespace trivet;
using Catch::Contains;

namespace {

std::unique_ptr<Optimizer> optimizer(Value fields) {
  test::use_plugin("optim");
  return make(ConfigOf<Optimizer>("optim/Ewc", std::move(fields)));
}

struct Fixture {
  Fixture(const std::string& backend, Value fields)
      : device(test::open_device(backend)), store(*device, RngKey(1)) {
    store.add("body/w", {2}, {.init = {Init::constant, 1}});
    store.add("head/w", {2}, {.init = {Init::constant, 1}});
    store.build();
    test::use_plugin("optim");
    learner = std::make_unique<Learner>(
        store, optimizer(std::move(fields)),
        make(ConfigOf<Schedule>("optim/Constant", Value::table({{"value", 0.1}}))));
  }

  // All gradients are this; gives the first number of both variables.
  std::vector<double> step(float gradient) {
    std::vector<double> values;
    for (const auto& parameter : store.parameters()) {
      std::ranges::fill(parameter->gradient().mutable_span<float>(), gradient);
    }
    learner->begin().apply_gradients();
    for (const auto& parameter : store.parameters()) {
      values.push_back(static_cast<double>(parameter->value().to_host<float>()[0]));
    }
    return values;
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<Learner> learner;
};

}  // namespace

TEST_CASE("weights are pulled to their start by lr strength / 2 importance") {
  const std::string backend = GENERATE(from_range(test::backends()));
  Fixture fixture(backend, Value::table({{"optimizer", "optim/Sgd"},
                                         {"strength", 4},
                                         {"importance", Value::table({{"^head/", 0}})}}));
  // 1 - 0.1 * 2; then 0.8 - 0.1 * 2 - 0.1 * 4 / 2 * (0.8 - 1); "head" is Sgd's alone.
  CHECK(fixture.step(2)[0] == Approx(0.8));
  const std::vector<double> second = fixture.step(2);
  CHECK(second[0] == Approx(0.64));
  CHECK(second[1] == Approx(0.6));
  CHECK(fixture.step(0)[0] == Approx(0.64 - 0.2 * (0.64 - 1)));
}

TEST_CASE("the start is a slot beside those of the optimizer") {
  Fixture fixture(
      "tiny/Backend",
      Value::table({{"optimizer", Value::table({{"type", "optim/Sgd"}, {"momentum", 0.9}})},
                    {"strength", 1}}));
  const auto slots = fixture.learner->slots();
  REQUIRE(slots.size() == 4);
  CHECK(slots[0].first == "body/w/momentum");
  CHECK(slots[1].first == "body/w/start");
  CHECK(std::isnan(slots[1].second.to_host<float>()[0]));
  fixture.step(1);
  CHECK(slots[1].second.to_host<float>()[0] == 1);
  fixture.step(1);
  CHECK(slots[1].second.to_host<float>()[0] == 1);
}

TEST_CASE("a pattern that fits no variable is refused, with the field") {
  const auto refused = [](Value fields) {
    try {
      const Fixture fixture("tiny/Backend", std::move(fields));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refused(Value::table({{"optimizer", "optim/Sgd"},
                                   {"strength", 1},
                                   {"importance", Value::table({{"haed", 2}})}})),
             Contains("importance") && Contains("'haed' matches the path of no variable"));
  CHECK_THAT(
      refused(Value::table(
          {{"optimizer", "optim/Sgd"}, {"strength", 1}, {"importance", Value::table({{"(", 2}})}})),
      Contains("importance"));
  CHECK_THAT(refused(Value::table({{"optimizer", "optim/Sgd"}, {"strength", 0}})),
             Contains("strength"));
}

}  // namespace optim_ewc_test
