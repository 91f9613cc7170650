// SPDX-License-Identifier: Apache-2.0
// Penalties and decay around any optimizer: signs, patterns, errors. optimizers_test.cpp has its
// numbers.
#include "optim/around/regularized.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"
#include "trivet/train/optim_update.h"

namespace optim_regularized_test {
namespace {

using trivet::ConfigOf;
using trivet::Init;
using trivet::Optimizer;
using trivet::Parameter;
using trivet::RngKey;
using trivet::Value;

std::unique_ptr<Optimizer> optimizer(const std::string& name, Value fields) {
  trivet::test::use_plugin("optim");
  return trivet::make(ConfigOf<Optimizer>("optim/" + name, std::move(fields)));
}

std::unique_ptr<trivet::Schedule> rate(double value) {
  return trivet::make(
      ConfigOf<trivet::Schedule>("optim/Constant", Value::table({{"value", value}})));
}

struct Fixture {
  explicit Fixture(const std::string& backend)
      : device(trivet::test::open_device(backend)), store(*device, RngKey(3)) {
    store.add("body/w", {5, 7}, {.init = {Init::normal, 1}});
    store.add("body/b", {7}, {.init = {Init::normal, 1}});
    store.add("head/w", {7, 3}, {.init = {Init::normal, 1}});
    store.build();
  }

  // Gradients that depend on the step alone.
  void step(trivet::Learner& learner) {
    std::uint64_t seed = 100 * static_cast<std::uint64_t>(learner.step());
    for (const auto& parameter : store.parameters()) {
      const auto values = trivet::test::random_values(parameter->shape().size(), ++seed);
      std::ranges::copy(values, parameter->gradient().mutable_span<float>().begin());
    }
    learner.begin().apply_gradients();
  }

  std::unique_ptr<trivet::Device> device;
  trivet::ParameterStore store;
};

}  // namespace

TEST_CASE("an l1 penalty pulls negative weights up and leaves zeros alone") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto device = trivet::test::open_device(backend);
  trivet::ParameterStore store(*device, RngKey(1));
  Parameter& w = store.add("w", {3}, {.init = {Init::constant, 0}});
  store.build();
  const std::vector<float> start{-0.5F, 0, 0.5F};
  trivet::Tensor values_of_w = w.value();
  trivet::assign(values_of_w, trivet::Tensor::from<float>(*device, start, {3}));
  trivet::Learner learner(
      store, optimizer("Regularized", Value::table({{"l1", 0.2}, {"optimizer", "optim/Sgd"}})),
      rate(0.1));
  const auto gradient = w.gradient().mutable_span<float>();
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  learner.begin().apply_gradients();
  const auto values = w.value().to_host<float>();
  CHECK(values[0] == Approx(-0.48));
  CHECK(values[1] == 0);
  CHECK(values[2] == Approx(0.48));
}

TEST_CASE("a regularized optimizer leaves out the parameters that its patterns name") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto trained = [&](const std::string& name, Value fields) {
    Fixture fixture(backend);
    trivet::Learner learner(fixture.store, optimizer(name, std::move(fields)), rate(0.1));
    for (int i = 0; i < 3; ++i) fixture.step(learner);
    std::vector<std::vector<float>> values;
    for (const auto& parameter : fixture.store.parameters()) {
      values.push_back(parameter->value().to_host<float>());
    }
    return values;
  };
  const auto plain = trained("Adam", Value::table());
  const auto some =
      trained("Regularized", Value::table({{"weight_decay", 0.1},
                                           {"optimizer", "optim/Adam"},
                                           {"exclude_from_weight_decay", Value::array({"head"})},
                                           {"decay_vectors", false}}));
  const auto decayed = trained("AdamW", Value::table({{"weight_decay", 0.1}}));
  REQUIRE(some.size() == 3);
  CHECK(some[1] == plain[1]);
  CHECK(some[2] == plain[2]);
  CHECK(some[0] != plain[0]);
  for (std::size_t i = 0; i < some[0].size(); ++i) {
    CHECK(some[0][i] == Approx(decayed[0][i]).epsilon(1e-5).margin(1e-6));
  }
}

TEST_CASE("a regularized optimizer refuses what it cannot use, with the field") {
  const auto refused = [](Value fields) {
    Fixture fixture("tiny/Backend");
    try {
      trivet::Learner learner(fixture.store, optimizer("Regularized", std::move(fields)),
                              rate(0.1));
    } catch (const trivet::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refused(Value::table({{"optimizer", "optim/Sgd"}})),
             Catch::Contains("is not regularized: set weight_decay, l1 or l2"));
  CHECK_THAT(refused(Value::table({{"l1", 0.1},
                                   {"optimizer", "optim/Sgd"},
                                   {"exclude_from_weight_decay", Value::array({"bais"})}})),
             Catch::Contains("trainer.optimizer.exclude_from_weight_decay"));
  CHECK_THAT(
      refused(Value::table(
          {{"l1", 0.1},
           {"optimizer", Value::table({{"type", "optim/Sgd"},
                                       {"exclude_from_weight_decay", Value::array({"bais"})}})}})),
      Catch::Contains("trainer.optimizer.optimizer.exclude_from_weight_decay"));
}

}  // namespace optim_regularized_test
