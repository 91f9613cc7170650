// SPDX-License-Identifier: Apache-2.0
// Activations composed of ops, by their formulas in float64, and where they might overflow.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/tape.h"

using namespace trivet;
using trivet::test::LayerFixture;

namespace {

struct Case {
  const char* key;
  Value fields;
  std::function<double(double)> formula;
};

std::vector<Case> cases() {
  const auto relu = [](double x) { return std::max(x, 0.0); };
  return {
      {"nn/Relu6", Value::table(), [=](double x) { return std::min(relu(x), 6.0); }},
      {"nn/LeakyRelu", Value::table(), [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"nn/LeakyRelu", Value::table({{"negative_slope", 0.3}}),
       [](double x) { return x > 0 ? x : 0.3 * x; }},
      {"nn/Elu", Value::table(), [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"nn/Elu", Value::table({{"alpha", 2.0}}),
       [](double x) { return x > 0 ? x : 2 * std::expm1(x); }},
      {"nn/SquaredRelu", Value::table(), [=](double x) { return relu(x) * relu(x); }},
      {"nn/CubedRelu", Value::table(), [=](double x) { return relu(x) * relu(x) * relu(x); }},
      {"nn/Softplus", Value::table(), [](double x) { return std::log1p(std::exp(x)); }},
      {"nn/Exp", Value::table(), [](double x) { return std::exp(x); }},
      {"nn/SineRelu", Value::table({{"epsilon", 0.25}}),
       [](double x) { return x > 0 ? x : 0.25 * (std::sin(x) - std::cos(x)); }},
  };
}

}  // namespace

TEST_CASE("composed activations compute their formulas") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const std::vector<float> x = {-20, -3, -1, -0.25F, 0, 0.25F, 1, 3, 6.5F, 20};
  for (const Case& each : cases()) {
    INFO(backend << " " << each.key);
    LayerFixture fixture(backend, {each.key, each.fields});
    CHECK(fixture.store().parameters().empty());
    const auto y = fixture.fprop(fixture.tensor(x, {2, 5})).to_host<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(y[i] == Approx(each.formula(x[i])).epsilon(1e-5).margin(1e-6));
    }
  }
}

TEST_CASE("Softplus and Elu are finite where exp is not") {
  const std::string backend = GENERATE(from_range(test::backends()));
  for (const char* key : {"nn/Softplus", "nn/Elu"}) {
    LayerFixture fixture(backend, {key, Value::table()});
    const auto y = fixture.fprop(fixture.tensor({1000, -1000}, {2})).to_host<float>();
    CHECK(y[0] == 1000);
    CHECK(y[1] == (std::string(key) == "nn/Elu" ? -1.0F : 0.0F));
  }
}

TEST_CASE("the slope of an activation at 0 is the same on every backend") {
  struct Slope {
    const char* key;
    Value fields;
    float at_zero;
  };
  const Slope slopes[] = {{"nn/Relu", Value::table(), 0},
                          {"nn/Relu6", Value::table(), 0},
                          {"nn/LeakyRelu", Value::table(), 1},
                          {"nn/Elu", Value::table(), 1},
                          {"nn/Elu", Value::table({{"alpha", 1.6732632}}), 1},  // as in SELU
                          {"nn/SquaredRelu", Value::table(), 0},
                          {"nn/CubedRelu", Value::table(), 0},
                          {"nn/Softplus", Value::table(), 0.5F},
                          {"nn/Exp", Value::table(), 1},
                          {"nn/SineRelu", Value::table({{"epsilon", 0.25}}), 0.25F}};
  const std::string backend = GENERATE(from_range(test::backends()));
  for (const Slope& each : slopes) {
    INFO(backend << " " << each.key);
    LayerFixture fixture(backend, {each.key, each.fields});
    GradientSlot slot;
    const Tensor x = make_leaf(fixture.tensor({0, 0}, {2}), slot);
    Tape tape;
    Tensor y;
    {
      Tape::Recording recording(tape);
      y = fixture.fprop(x);
    }
    tape.backward(y, fixture.tensor({1, -2}, {2}));
    CHECK(slot.gradient.to_host<float>() == std::vector<float>{each.at_zero, -2 * each.at_zero});
  }
}
