// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning around any optimizer: its formula by hand, which variables, and slots.
#include "optim/around/pruned.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"

namespace optim_pruned_test {

using namespace trivet;
using Catch::Contains;

namespace {

using Floats = std::vector<float>;

std::unique_ptr<Optimizer> optimizer(Value fields) {
  test::use_plugin("optim");
  return make(ConfigOf<Optimizer>("optim/Pruned", std::move(fields)));
}

struct Fixture {
  Fixture(const std::string& backend, Value fields)
      : device(test::open_device(backend)), store(*device, RngKey(1)) {
    store.add("body/w", {2, 4}, {.init = {Init::constant, 0}});
    store.add("body/b", {4}, {.init = {Init::constant, 0.1}});
    store.build();
    test::use_plugin("optim");
    learner = std::make_unique<Learner>(
        store, optimizer(std::move(fields)),
        make(ConfigOf<Schedule>("optim/Constant", Value::table({{"value", 1.0}}))));
    set("body/w", {1, -2, 3, -4, 5, -6, 7, -8});
  }
  void set(const char* path, const Floats& values) {
    Parameter& parameter = *store.find(path);
    Tensor written = Tensor::host(parameter.shape());
    std::ranges::copy(values, written.mutable_span<float>().begin());
    parameter.assign(written.to(*device));
  }
  Floats value(const char* path) { return store.find(path)->value().to_host<float>(); }
  // All gradients are this.
  Floats step(float gradient) {
    for (const auto& parameter : store.parameters()) {
      std::ranges::fill(parameter->gradient().mutable_span<float>(), gradient);
    }
    learner->begin().apply_gradients();
    return value("body/w");
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<Learner> learner;
};

Value pruned(const Value& inner, double final_sparsity, std::int64_t begin, std::int64_t end) {
  return Value::table({{"optimizer", inner},
                       {"final_sparsity", final_sparsity},
                       {"begin_step", begin},
                       {"end_step", end},
                       {"interval", 2}});
}

}  // namespace

TEST_CASE("the smallest weights become 0, by the schedule of Zhu and Gupta") {
  const std::string backend = GENERATE(from_range(test::backends()));
  Fixture fixture(backend, pruned("optim/Sgd", 0.5, 1, 5));
  // Before begin_step nothing is pruned. At 1 the sparsity is 0, at 3 it is 0.5 (1 - 0.5^3) =
  // 0.4375: 4.5 of 8 weights are kept, which rounds to 5. At 5 it is 0.5: 4 are kept.
  CHECK(fixture.step(0) == Floats{1, -2, 3, -4, 5, -6, 7, -8});
  CHECK(fixture.step(0) == Floats{1, -2, 3, -4, 5, -6, 7, -8});
  CHECK(fixture.step(0) == Floats{1, -2, 3, -4, 5, -6, 7, -8});
  CHECK(fixture.step(0) == Floats{0, 0, 0, -4, 5, -6, 7, -8});
  // Between two choices a 0 stays 0, whatever its gradient is; the others train.
  CHECK(fixture.step(-1) == Floats{0, 0, 0, -3, 6, -5, 8, -7});
  CHECK(fixture.step(0) == Floats{0, 0, 0, 0, 6, -5, 8, -7});
  // After end_step the choice is final.
  CHECK(fixture.step(6) == Floats{0, 0, 0, 0, 0, -11, 2, -13});
  CHECK(fixture.step(-20) == Floats{0, 0, 0, 0, 20, 9, 22, 7});
  // A vector is not pruned.
  CHECK(fixture.value("body/b")[0] == Approx(0.1 + 1 - 6 + 20));
}

TEST_CASE("a weight may come back at a choice, by its last update") {
  Fixture fixture("tiny/Backend", pruned("optim/Sgd", 0.5, 0, 2));
  CHECK(fixture.step(0) == Floats{1, -2, 3, -4, 5, -6, 7, -8});
  fixture.set("body/w", {0, 0, 0, 0, 5, -6, 7, -8});
  // At step 2, the end: after w - 6.5 the absolute values are 6.5 (four times), 1.5, 12.5, 0.5 and
  // 14.5, and the four equal ones are all kept beside the two larger ones.
  fixture.step(0);
  CHECK(fixture.step(6.5F) == Floats{-6.5, -6.5, -6.5, -6.5, 0, -12.5, 0, -14.5});
}

TEST_CASE("a weight that is not a number stays, and does not disturb the choice") {
  Fixture fixture("tiny/Backend", pruned("optim/Sgd", 0.5, 0, 1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  fixture.set("body/w", {1, nan, 3, -4, 5, -6, 7, -8});
  fixture.step(0);
  const Floats after = fixture.step(0);
  CHECK(std::isnan(after[1]));
  CHECK(Floats(after.begin() + 2, after.end()) == Floats{0, 0, 0, -6, 7, -8});
}

TEST_CASE("patterns select what is pruned, and slots of the optimizer come first") {
  const Value momentum = Value::table({{"type", "optim/Sgd"}, {"momentum", 0.9}});
  Value fields = pruned(momentum, 0.5, 0, 4);
  fields.set("variables", Value::array({"/b$"}));
  Fixture fixture("tiny/Backend", fields);
  const auto slots = fixture.learner->slots();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : slots) names.push_back(name);
  CHECK(names == std::vector<std::string>{"body/w/momentum", "body/b/momentum", "body/b/mask"});
  CHECK(slots.back().second.to_host<float>() == Floats{1, 1, 1, 1});
  CHECK(fixture.step(0) == Floats{1, -2, 3, -4, 5, -6, 7, -8});
}

TEST_CASE("pruning around an optimizer that knows each variable") {
  Fixture fixture("tiny/Backend", pruned("optim/Adafactor", 0.9, 0, 1));
  fixture.step(0.01F);
  const Floats after = fixture.step(0.01F);
  CHECK(std::ranges::count(after, 0.0F) == 7);
  CHECK(after.back() != 0);
}

TEST_CASE("pruning that cannot be is refused") {
  CHECK_THROWS_WITH(optimizer(pruned("optim/Sgd", 0.5, 7, 7)),
                    Contains("begin_step") && Contains("must be before end_step"));
  CHECK_THROWS_WITH(optimizer(pruned("optim/Sgd", 1.5, 0, 7)), Contains("final_sparsity"));
  Value fields = pruned("optim/Sgd", 0.5, 0, 4);
  fields.set("variables", Value::array({"nothing"}));
  CHECK_THROWS_WITH(Fixture("tiny/Backend", fields),
                    Contains("trainer.optimizer.variables") && Contains("nothing"));
}

}  // namespace optim_pruned_test
