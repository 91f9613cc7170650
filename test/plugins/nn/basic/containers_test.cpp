// SPDX-License-Identifier: Apache-2.0
// Sequential, Repeat, Residual, Flatten, Dropout and Embedding.
#include <cmath>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace {

using trivet::ConfigOf;
using trivet::FpropContext;
using trivet::Layer;
using trivet::RngKey;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

Value linear(std::int64_t in, std::int64_t out) {
  return Value::table({{"type", "nn/Linear"}, {"input_dims", in}, {"output_dims", out}});
}

std::vector<std::string> paths(const LayerFixture& fixture) {
  std::vector<std::string> out;
  for (const auto& parameter : fixture.store().parameters()) out.push_back(parameter->path());
  return out;
}

}  // namespace

TEST_CASE("Sequential runs its layers in order and numbers their paths") {
  Value fields = Value::table();
  fields.set("layers", Value::array({"nn/Flatten", linear(6, 4), "nn/Relu", linear(4, 2)}));
  LayerFixture fixture("tiny/Backend", {"nn/Sequential", fields});
  CHECK(paths(fixture) == std::vector<std::string>{"layer/layer_1/w", "layer/layer_1/b",
                                                   "layer/layer_3/w", "layer/layer_3/b"});
  fixture.set("layer_1/w", std::vector<float>(24, 1));
  fixture.set("layer_1/b", {0, 0, 0, -100});  // cut by the Relu
  fixture.set("layer_3/w", {1, 10, 1, 10, 1, 10, 1, 10});
  const Tensor y = fixture.fprop(fixture.tensor({1, 2, 3, 4, 5, 6}, {1, 2, 3}));
  CHECK(y.shape() == trivet::Shape{1, 2});
  CHECK(y.to_host<float>() == std::vector<float>{63, 630});  // 3 * (1 + .. + 6)
}

TEST_CASE("\"none\" in a Sequential does not change the other names") {
  Value fields = Value::table();
  fields.set("layers", Value::array({"none", linear(2, 2)}));
  LayerFixture fixture("tiny/Backend", {"nn/Sequential", fields});
  CHECK(paths(fixture).front() == "layer/layer_1/w");
}

TEST_CASE("an empty Sequential returns its input") {
  LayerFixture fixture("tiny/Backend", "nn/Sequential");
  const Tensor x = fixture.tensor({1, 2}, {2});
  CHECK(fixture.fprop(x).same_as(x));
}

TEST_CASE("Repeat gives each repetition its own weights and initial values") {
  const Value fields = Value::table({{"sub", linear(3, 3)}, {"x_times", 3}});
  LayerFixture fixture("tiny/Backend", {"nn/Repeat", fields});
  CHECK(paths(fixture) == std::vector<std::string>{"layer/sub_0/w", "layer/sub_0/b",
                                                   "layer/sub_1/w", "layer/sub_1/b",
                                                   "layer/sub_2/w", "layer/sub_2/b"});
  CHECK(fixture.values("sub_0/w") != fixture.values("sub_1/w"));
  for (const char* path : {"sub_0/w", "sub_1/w", "sub_2/w"}) {
    fixture.set(path, {2, 0, 0, 0, 2, 0, 0, 0, 2});
  }
  const Tensor y = fixture.fprop(fixture.tensor({1, -1, 0.5f}, {1, 3}));
  CHECK(y.to_host<float>() == std::vector<float>{8, -8, 4});
}

TEST_CASE("a Repeat of a shared template is one layer run several times") {
  Value sub = linear(2, 2);
  sub.set("shared", "step");
  LayerFixture fixture("tiny/Backend", {"nn/Repeat", Value::table({{"sub", sub}, {"x_times", 3}})});
  CHECK(paths(fixture) == std::vector<std::string>{"layer/sub_0/w", "layer/sub_0/b"});
  fixture.set("sub_0/w", {0, 1, 2, 0});  // (a, b) -> (2 b, a)
  const Tensor y = fixture.fprop(fixture.tensor({1, 10}, {1, 2}));
  CHECK(y.to_host<float>() == std::vector<float>{40, 2});
}

TEST_CASE("Residual adds the weighted sub-layer to its input or shortcut") {
  Value fields = Value::table({{"sub", "nn/Relu"}, {"residual_weight", 0.5}});
  LayerFixture plain("tiny/Backend", {"nn/Residual", fields});
  CHECK(plain.fprop(plain.tensor({4, -4}, {1, 2})).to_host<float>() == std::vector<float>{6, -4});
  LayerFixture wide(
      "tiny/Backend",
      {"nn/Residual", Value::table({{"sub", linear(2, 3)}, {"shortcut", linear(2, 3)}})});
  wide.set("sub/w", std::vector<float>(6, 1));
  wide.set("shortcut/w", std::vector<float>(6, 10));
  CHECK(wide.fprop(wide.tensor({1, 2}, {1, 2})).to_host<float>() == std::vector<float>{33, 33, 33});
}

TEST_CASE("a Residual with mismatched shapes is an error with a hint") {
  LayerFixture fixture("tiny/Backend", {"nn/Residual", Value::table({{"sub", linear(2, 3)}})});
  CHECK_THROWS_WITH(fixture.fprop(fixture.tensor({1, 2}, {1, 2})),
                    Catch::Contains("[nn/Residual] 'layer'") && Catch::Contains("[1, 2]") &&
                        Catch::Contains("[1, 3]") && Catch::Contains("shortcut"));
}

TEST_CASE("errors of nested layers contain the whole path") {
  Value inner = Value::table({{"type", "nn/Repeat"}, {"sub", linear(4, 4)}, {"x_times", 2}});
  Value fields = Value::table();
  fields.set("layers", Value::array({"nn/Relu", inner}));
  LayerFixture fixture("tiny/Backend", {"nn/Sequential", fields});
  CHECK_THROWS_WITH(fixture.fprop(fixture.tensor({1, 2}, {1, 2})),
                    Catch::Contains("[nn/Linear] 'layer/layer_1/sub_0': expected [.., 4]"));
}

TEST_CASE("Flatten makes a row of each example, of an empty batch too") {
  LayerFixture fixture("tiny/Backend", "nn/Flatten");
  const std::vector<float> x = random_values(24, 1);
  const Tensor y = fixture.fprop(fixture.tensor(x, {2, 3, 4, 1}));
  CHECK(y.shape() == trivet::Shape{2, 12});
  CHECK(y.to_host<float>() == x);
  CHECK(fixture.fprop(Tensor::zeros(fixture.device(), {0, 3, 4})).shape() == trivet::Shape{0, 12});
  CHECK(fixture.fprop(Tensor::zeros(fixture.device(), {5})).shape() == trivet::Shape{5, 1});
  CHECK_THROWS_WITH(fixture.fprop(Tensor::scalar(fixture.device(), 1)),
                    Catch::Contains("[nn/Flatten] 'layer'"));
}

TEST_CASE("Dropout drops its share in training only") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture fixture(backend, {"nn/Dropout", Value::table({{"rate", 0.25}})});
  const Tensor ones = Tensor::full(fixture.device(), {100, 200}, 1);
  CHECK(fixture.fprop(ones).same_as(ones));
  int dropped = 0;
  for (const float value : fixture.fprop(ones, true).to_host<float>()) {
    if (value == 0) {
      ++dropped;
    } else {
      CHECK(value == Approx(1 / 0.75));
    }
  }
  // 20,000 draws of probability 1/4: standard deviation 61; 5 of them.
  CHECK(std::abs(dropped - 5000) < 306);
}

TEST_CASE("Dropout's choice depends on the step's key and the layer's path, on any backend") {
  const auto drop = [](const std::string& backend, std::uint64_t key) {
    LayerFixture fixture(backend, {"nn/Dropout", Value::table({{"rate", 0.5}})});
    FpropContext context;
    context.train = true;
    context.key = RngKey(key);
    return fixture.layer().fprop(Tensor::full(fixture.device(), {64}, 1), context).to_host<float>();
  };
  const std::vector<float> first = drop("tiny/Backend", 1);
  CHECK(drop("tiny/Backend", 2) != first);
  for (const std::string& backend : trivet::test::backends()) CHECK(drop(backend, 1) == first);
}

TEST_CASE("Dropout with rate 0 adds no layer, and rate 1 is refused") {
  LayerFixture fixture("tiny/Backend", {"nn/Dropout", Value::table({{"rate", 0.0}})});
  const Tensor x = fixture.tensor({1, 2}, {2});
  CHECK(fixture.fprop(x, true).same_as(x));
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", {"nn/Dropout", Value::table({{"rate", 1.0}})}),
                    Catch::Contains("rate"));
}

TEST_CASE("DropPath drops whole examples in training only") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture fixture(backend, {"nn/DropPath", Value::table({{"rate", 0.25}})});
  const Tensor ones = Tensor::full(fixture.device(), {4000, 2, 3}, 1);
  CHECK(fixture.fprop(ones).same_as(ones));
  const std::vector<float> y = fixture.fprop(ones, true).to_host<float>();
  int dropped = 0;
  for (std::size_t example = 0; example < 4000; ++example) {
    const float first = y[example * 6];
    dropped += first == 0 ? 1 : 0;
    const bool is_whole = first == 0 || first == Approx(1 / 0.75);
    bool is_one = true;
    for (std::size_t i = 1; i < 6; ++i) is_one = is_one && y[example * 6 + i] == first;
    if (!is_whole || !is_one) FAIL("example " << example << " was dropped in part");
  }
  // 4000 draws of probability 1/4: standard deviation 27; 5 of them.
  CHECK(std::abs(dropped - 1000) < 137);
}

TEST_CASE("Embedding looks up rows, scaled where asked") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool scaled = GENERATE(false, true);
  LayerFixture fixture(
      backend,
      {"nn/Embedding",
       Value::table({{"num_classes", 3}, {"input_dims", 4}, {"scale_sqrt_depth", scaled}})});
  fixture.set("table", {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
  const std::vector<std::int32_t> ids{2, 0, 2, 1};
  const Tensor y =
      fixture.fprop(Tensor::from(fixture.device(), std::span<const std::int32_t>(ids), {2, 2}));
  CHECK(y.shape() == trivet::Shape{2, 2, 4});
  std::vector<double> want;
  for (const std::int32_t id : ids) {
    for (int i = 0; i < 4; ++i) want.push_back((10 * id + i) * (scaled ? 2 : 1));
  }
  CHECK(largest_error(y.to_host<float>(), want) == 0);
}

TEST_CASE("Embedding refuses ids that are not in the table or not numbers of rows") {
  LayerFixture fixture(GENERATE(from_range(trivet::test::backends())),
                       {"nn/Embedding", Value::table({{"num_classes", 3}, {"input_dims", 2}})});
  const std::int32_t bad = GENERATE(3, -1);
  const std::vector<std::int32_t> ids{0, bad};
  CHECK_THROWS_AS(
      fixture.fprop(Tensor::from(fixture.device(), std::span<const std::int32_t>(ids), {2})),
      trivet::Error);
  CHECK_THROWS_WITH(fixture.fprop(fixture.tensor({0, 1}, {2})),
                    Catch::Contains("[nn/Embedding] 'layer'") && Catch::Contains("i32"));
}

TEST_CASE("Embedding starts normal with deviation 1 / sqrt(input_dims)") {
  LayerFixture fixture("tiny/Backend",
                       {"nn/Embedding", Value::table({{"num_classes", 500}, {"input_dims", 64}})});
  double squares = 0;
  for (const float value : fixture.values("table")) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  CHECK(std::sqrt(squares / 32000) == Approx(0.125).epsilon(0.02));
}
