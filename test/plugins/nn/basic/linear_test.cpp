// SPDX-License-Identifier: Apache-2.0
// Linear and the activations against plain loops in double.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/extensions/activation.h"
#include "trivet/plugin/registry.h"

namespace nn_linear_test {
namespace {

using trivet::ConfigOf;
using trivet::Layer;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

// f32 sums of a few hundred products: errors stay below 300 * 2^-24.
constexpr double kTolerance = 2e-5;

double apply(const std::string& name, double x) {
  if (name == "nn/Relu") return std::max(x, 0.0);
  if (name == "nn/Tanh") return std::tanh(x);
  if (name == "nn/Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "nn/Silu") return x / (1 + std::exp(-x));
  if (name == "gelu exact") return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
  if (name == "nn/Gelu") {
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return x / 2 * (1 + std::tanh(inner));
  }
  return x;
}

std::vector<double> linear_reference(const std::vector<float>& x, const std::vector<float>& w,
                                     const std::vector<float>& b, std::size_t in, std::size_t out) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size() / in; ++row) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = b.empty() ? 0 : static_cast<double>(b[o]);
      for (std::size_t i = 0; i < in; ++i) {
        sum += static_cast<double>(x[row * in + i]) * static_cast<double>(w[i * out + o]);
      }
      y.push_back(sum);
    }
  }
  return y;
}

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out, Value more = Value::table()) {
  more.set("input_dims", in);
  more.set("output_dims", out);
  return {"nn/Linear", std::move(more)};
}

}  // namespace

TEST_CASE("Linear is x w + b over the last axis, with or without bias and activation") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool has_bias = GENERATE(true, false);
  const std::string activation =
      GENERATE("none", "nn/Relu", "nn/Tanh", "nn/Sigmoid", "nn/Silu", "nn/Gelu");
  INFO(backend << " " << activation << " bias " << has_bias);
  LayerFixture fixture(
      backend, linear(7, 5, Value::table({{"has_bias", has_bias}, {"activation", activation}})));
  std::vector<float> b;
  if (has_bias) {
    b = random_values(5, 2);
    fixture.set("b", b);
  }
  const std::vector<float> x = random_values(2 * 3 * 7, 1);
  std::vector<double> want = linear_reference(x, fixture.values("w"), b, 7, 5);
  for (double& y : want) y = apply(activation, y);
  const Tensor y = fixture.fprop(fixture.tensor(x, {2, 3, 7}));
  CHECK(y.shape() == trivet::Shape{2, 3, 5});
  CHECK(largest_error(y.to_host<float>(), want) < kTolerance);
}

TEST_CASE("Linear starts as documented: Glorot uniform weights and a zero bias") {
  LayerFixture fixture("tiny/Backend", linear(100, 50));
  double largest = 0;
  for (const float w : fixture.values("w")) {
    largest = std::max(largest, std::abs(static_cast<double>(w)));
  }
  const double bound = std::sqrt(6.0 / 150);
  CHECK(largest <= bound);
  CHECK(largest > 0.99 * bound);
  CHECK(fixture.values("b") == std::vector<float>(50, 0));
  CHECK(fixture.store().parameters().size() == 2);
}

TEST_CASE("Linear's starts can be set") {
  const Value half = Value::table({{"method", "constant"}, {"scale", 0.5}});
  const Value quarter = Value::table({{"method", "constant"}, {"scale", 0.25}});
  LayerFixture fixture("tiny/Backend",
                       linear(2, 3, Value::table({{"init", half}, {"bias_init", quarter}})));
  CHECK(fixture.values("w") == std::vector<float>(6, 0.5f));
  CHECK(fixture.values("b") == std::vector<float>(3, 0.25f));
}

TEST_CASE("an input of the wrong depth is an error that names the layer, both shapes and a cure") {
  LayerFixture fixture("tiny/Backend", linear(784, 10));
  const Tensor images = Tensor::zeros(fixture.device(), {2, 28, 28});
  CHECK_THROWS_WITH(
      fixture.fprop(images),
      Catch::Contains("[nn/Linear] 'layer': expected [.., 784], got f32 [2, 28, 28]") &&
          Catch::Contains("nn/Flatten"));
  CHECK_THROWS_AS(fixture.fprop(Tensor::scalar(fixture.device(), 1)), trivet::Error);
}

TEST_CASE("Linear takes an empty batch") {
  LayerFixture fixture(GENERATE(from_range(trivet::test::backends())), linear(3, 4));
  const Tensor y = fixture.fprop(Tensor::zeros(fixture.device(), {0, 3}));
  CHECK(y.shape() == trivet::Shape{0, 4});
}

TEST_CASE("activations compute their formulas element by element") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string name =
      GENERATE("nn/Relu", "nn/Tanh", "nn/Sigmoid", "nn/Silu", "nn/Gelu", "gelu exact");
  INFO(backend << " " << name);
  const bool exact = name == "gelu exact";
  LayerFixture fixture(backend,
                       exact ? ConfigOf<Layer>("nn/Gelu", Value::table({{"approximate", false}}))
                             : ConfigOf<Layer>(name));
  std::vector<float> x{0, -0.0f, 1, -1, 20, -20, 1e-4f, 0.5f};
  for (const float value : random_values(57, 3, 3)) x.push_back(value);
  std::vector<double> want;
  for (const float value : x) want.push_back(apply(name, static_cast<double>(value)));
  const Tensor y = fixture.fprop(fixture.tensor(x, {5, 13}));
  CHECK(y.shape() == trivet::Shape{5, 13});
  CHECK(largest_error(y.to_host<float>(), want) < 1e-6);
}

TEST_CASE("known values of the two forms of GELU") {
  // torch.nn.functional.gelu(1.0) = 0.8413447 (exact), 0.8411920 (tanh).
  LayerFixture tanh_form("tiny/Backend", "nn/Gelu");
  LayerFixture exact_form("tiny/Backend", {"nn/Gelu", Value::table({{"approximate", false}})});
  CHECK(tanh_form.fprop(tanh_form.tensor({1}, {1})).item() == Approx(0.8411920).epsilon(1e-6));
  CHECK(exact_form.fprop(exact_form.tensor({1}, {1})).item() == Approx(0.8413447).epsilon(1e-6));
}

TEST_CASE("only plain activations report their kind") {
  LayerFixture relu("tiny/Backend", "nn/Relu");
  CHECK(trivet::plain_activation(&relu.layer()) == trivet::Activation::relu);
  LayerFixture flatten("tiny/Backend", "nn/Flatten");
  CHECK(trivet::plain_activation(&flatten.layer()) == std::nullopt);
  CHECK(trivet::plain_activation(nullptr) == trivet::Activation::none);
}

TEST_CASE("an activation that is not plain runs after Linear") {
  const Value norm = Value::table({{"type", "nn/LayerNorm"}, {"dim", 4}});
  LayerFixture fixture("tiny/Backend", linear(3, 4, Value::table({{"activation", norm}})));
  CHECK(fixture.parameter("activation/scale").shape() == trivet::Shape{4});
  const Tensor y = fixture.fprop(fixture.tensor(random_values(6, 4), {2, 3}));
  double sum = 0;
  for (const float value : y.to_host<float>()) sum += static_cast<double>(value);
  CHECK(std::abs(sum) < 1e-5);  // rows of a LayerNorm have mean 0
}

}  // namespace nn_linear_test
