// SPDX-License-Identifier: Apache-2.0
// Every layer's gradients against central differences, on every backend.
#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_gradient_test {
namespace {

using trivet::ConfigOf;
using trivet::Layer;
using trivet::Tensor;
using trivet::Value;
using trivet::test::LayerFixture;
using trivet::test::random_values;

Value linear(std::int64_t in, std::int64_t out, const char* activation = "none") {
  return Value::table({{"type", "nn/Linear"},
                       {"input_dims", in},
                       {"output_dims", out},
                       {"activation", activation},
                       {"bias_init", Value::table({{"method", "normal"}, {"scale", 1.0}})}});
}

struct Case {
  const char* name;
  Value config;
  trivet::Shape input;
  bool train = false;
  bool has_kinks = false;  // its inputs are apart from each other and from 0
};

Value with(const char* type, std::initializer_list<std::pair<std::string_view, Value>> fields) {
  Value config = Value::table(fields);
  config.set("type", type);
  return config;
}

std::vector<Case> cases() {
  const Value conv = with("nn/Conv2d", {{"input_dims", 2}, {"output_dims", 3}});
  Value strided = conv;
  strided.set("stride", Value::array({2}));
  strided.set("activation", "nn/Tanh");
  Value dilated = conv;
  dilated.set("dilation", Value::array({2}));
  dilated.set("padding", "valid");
  dilated.set("activation", "nn/Silu");
  Value sequence = with("nn/Sequential", {});
  sequence.set("layers", Value::array({"nn/Flatten", linear(6, 4, "nn/Gelu"), linear(4, 2)}));
  return {
      {"Linear", linear(4, 3), {5, 4}},
      {"Linear of three axes, tanh", linear(4, 3, "nn/Tanh"), {2, 3, 4}},
      {"Linear, silu", linear(4, 3, "nn/Silu"), {5, 4}},
      {"Linear, gelu", linear(4, 3, "nn/Gelu"), {5, 4}},
      {"Linear, sigmoid", linear(4, 3, "nn/Sigmoid"), {5, 4}},
      {"Conv2d", conv, {1, 4, 5, 2}},
      {"Conv2d, strided, tanh", strided, {1, 5, 4, 2}},
      {"Conv2d, dilated, valid, silu", dilated, {1, 6, 5, 2}},
      {"AvgPool2d", with("nn/AvgPool2d", {{"padding", "same"}}), {1, 5, 4, 2}},
      {"GlobalAvgPool2d", with("nn/GlobalAvgPool2d", {}), {2, 3, 2, 4}},
      {"MaxPool2d", with("nn/MaxPool2d", {{"padding", "same"}}), {1, 5, 4, 2}, false, true},
      {"Silu", with("nn/Silu", {}), {3, 4}},
      {"Gelu", with("nn/Gelu", {}), {3, 4}},
      {"Gelu, exact", with("nn/Gelu", {{"approximate", false}}), {3, 4}},
      {"Tanh", with("nn/Tanh", {}), {3, 4}},
      {"Sigmoid", with("nn/Sigmoid", {}), {3, 4}},
      {"Relu6", with("nn/Relu6", {}), {3, 4}, false, true},
      {"LeakyRelu", with("nn/LeakyRelu", {{"negative_slope", 0.25}}), {3, 4}, false, true},
      {"Elu", with("nn/Elu", {{"alpha", 1.5}}), {3, 4}, false, true},
      {"SquaredRelu", with("nn/SquaredRelu", {}), {3, 4}, false, true},
      {"CubedRelu", with("nn/CubedRelu", {}), {3, 4}, false, true},
      {"Softplus", with("nn/Softplus", {}), {3, 4}},
      {"Exp", with("nn/Exp", {}), {3, 4}},
      {"Dropout", with("nn/Dropout", {{"rate", 0.5}}), {4, 5}, true},
      {"DropPath", with("nn/DropPath", {{"rate", 0.5}}), {6, 2, 3}, true},
      {"GroupNorm", with("nn/GroupNorm", {{"dim", 6}, {"num_groups", 2}}), {2, 3, 6}},
      {"LayerNorm", with("nn/LayerNorm", {{"dim", 6}}), {4, 6}},
      {"BatchNorm, training", with("nn/BatchNorm", {{"dim", 3}}), {4, 2, 3}, true},
      {"BatchNorm, training, tanh",
       with("nn/BatchNorm", {{"dim", 3}, {"activation", "nn/Tanh"}}),
       {4, 2, 3},
       true},
      {"BatchNorm, evaluation, silu",
       with("nn/BatchNorm", {{"dim", 3}, {"activation", "nn/Silu"}}),
       {4, 2, 3}},
      {"BatchNorm, training, no parameters",
       with("nn/BatchNorm", {{"dim", 3}, {"use_scale", false}, {"use_bias", false}}),
       {4, 2, 3},
       true},
      {"BatchNorm, evaluation", with("nn/BatchNorm", {{"dim", 3}}), {4, 2, 3}},
      {"Sequential", sequence, {2, 3, 2}},
      {"Repeat", with("nn/Repeat", {{"sub", linear(3, 3, "nn/Tanh")}, {"x_times", 2}}), {2, 3}},
      {"Residual",
       with("nn/Residual", {{"sub", linear(3, 2, "nn/Tanh")},
                            {"shortcut", linear(3, 2)},
                            {"residual_weight", 0.5}}),
       {2, 3}},
  };
}

ConfigOf<Layer> config_of(Value value) {
  const std::string key = value.find("type")->as_string();
  value.erase("type");
  return {key, std::move(value)};
}

// Values at least 0.1 apart, in random order: no difference step changes the maximum.
std::vector<float> spread_values(std::int64_t n) {
  const trivet::Permutation order(trivet::RngKey(4), static_cast<std::uint64_t>(n));
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto position = static_cast<double>(order(static_cast<std::uint64_t>(i)));
    values.push_back(static_cast<float>(0.1 * (position - static_cast<double>(n) / 2) + 0.05));
  }
  return values;
}

}  // namespace

TEST_CASE("gradients of layers match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Case& layer : cases()) {
    INFO(backend << " " << layer.name);
    LayerFixture fixture(backend, config_of(layer.config));
    const std::vector<float> x =
        layer.has_kinks ? spread_values(layer.input.size()) : random_values(layer.input.size(), 21);
    trivet::testing::LayerCheckOptions options;
    options.train = layer.train;
    CHECK(trivet::testing::check_layer_gradients(fixture.layer(), fixture.store(),
                                                 fixture.tensor(x, layer.input), options) == "");
  }
}

TEST_CASE("the gradient of Relu is 1 above 0 and 0 below, alone and fused") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture relu(backend, "nn/Relu");
  CHECK(trivet::testing::check_layer_gradients(relu.layer(), relu.store(),
                                               relu.tensor(spread_values(30), {5, 6})) == "");
  // One input feature and weights and biases that keep every sum at least 0.2 from 0.
  LayerFixture fused(backend, config_of(linear(1, 2, "nn/Relu")));
  fused.set("w", {1, -1});
  fused.set("b", {0.05f, 0.05f});
  CHECK(trivet::testing::check_layer_gradients(fused.layer(), fused.store(),
                                               fused.tensor({-1, -0.5f, 0.5f, 1}, {4, 1})) == "");
}

TEST_CASE("the gradient of Embedding adds up for a repeated id") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture fixture(
      backend, {"nn/Embedding",
                Value::table({{"num_classes", 4}, {"input_dims", 3}, {"scale_sqrt_depth", true}})});
  const std::vector<std::int32_t> ids{2, 0, 2, 2, 3};
  CHECK(trivet::testing::check_layer_gradients(
            fixture.layer(), fixture.store(),
            Tensor::from(fixture.device(), std::span<const std::int32_t>(ids), {5})) == "");
}

TEST_CASE("the layer check finds a wrong gradient") {
  // Dropout is a function of its input only for a fixed key: training with a rate of 0.5 passes
  // above. A layer whose weight never reaches the output has gradient 0 and passes, too. A layer
  // that hides its weight from the tape fails.
  class Hidden final : public Layer {
   public:
    explicit Hidden(trivet::Scope& scope) : w_(scope.parameter("w", {1})) {}
    Tensor fprop(const Tensor& x, trivet::FpropContext&) override {
      return trivet::ops::mul(x, trivet::ops::stop_gradient(w_.value()));
    }

   private:
    trivet::Parameter& w_;
  };
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  trivet::Scope inner = scope.child("hidden");
  Hidden layer(inner);
  store.build();
  Tensor x = Tensor::full(*device, {2}, 1);
  trivet::GradientSlot slot;
  CHECK_THAT(trivet::testing::check_layer_gradients(layer, store, trivet::make_leaf(x, slot)),
             Catch::Contains("hidden/w element 0: tape 0.0"));
}

}  // namespace nn_gradient_test
