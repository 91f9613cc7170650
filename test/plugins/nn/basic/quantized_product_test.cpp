// SPDX-License-Identifier: Apache-2.0
// Products of quantized inputs with quantized weights against sums of int64.
#include "nn/basic/quantized_product.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"

namespace nn_quantized_product_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::Value;
using trivet::test::backends;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::with;

constexpr float kLargest = 127;

// Integers of numbers and their scale, in f32 as a plain loop.
struct Integers {
  std::vector<std::int64_t> integers;
  float scale = 1;
};

// Numbers begin, begin + stride, ..
Integers integers_of(const std::vector<float>& x, std::size_t begin, std::size_t stride,
                     std::size_t count) {
  float most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::fabs(x[begin + i * stride]));
  Integers found{.integers = {}, .scale = most * (1 / kLargest)};
  for (std::size_t i = 0; i < count; ++i) {
    const float integer = std::floor(x[begin + i * stride] / found.scale + 0.5F);
    found.integers.push_back(static_cast<std::int64_t>(integer));
  }
  return found;
}

Value activations(bool per_channel) {
  return with("nn/ActivationQuantization", {{"per_channel", per_channel}});
}

Value quantized_linear(std::int64_t in, std::int64_t out, bool per_channel) {
  Value config = with("nn/Linear", {{"input_dims", in}, {"output_dims", out}});
  config.set("parametrization", "nn/FakeQuantization");
  config.set("input_quantization", activations(per_channel));
  return config;
}

}  // namespace

TEST_CASE("a Linear that quantizes both operands gives what int8 products with exact sums give") {
  const std::string backend = GENERATE(from_range(backends()));
  const bool per_channel = GENERATE(true, false);
  // 1000 * 127^2 < 2^24
  constexpr std::size_t kIn = 1000, kOut = 7, kRows = 5;
  Value config = quantized_linear(kIn, kOut, per_channel);
  config.set("has_bias", false);
  const LayerFixture layer = made(backend, config);
  const std::vector<float> w = random_values(kIn * kOut, 3), x = random_values(kRows * kIn, 4);
  layer.set("w", w);
  const std::vector<float> y = layer.fprop(layer.tensor(x, {kRows, kIn})).to_host<float>();
  std::vector<float> want;
  for (std::size_t r = 0; r < kRows; ++r) {
    const Integers all = integers_of(x, 0, 1, x.size());
    const Integers row = integers_of(x, r * kIn, 1, kIn);
    for (std::size_t c = 0; c < kOut; ++c) {
      const Integers column = integers_of(w, c, kOut, kIn);
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < kIn; ++i) {
        sum += (per_channel ? row.integers[i] : all.integers[r * kIn + i]) * column.integers[i];
      }
      REQUIRE(std::abs(sum) < std::int64_t{1} << 24);
      want.push_back(static_cast<float>(sum) * (per_channel ? row.scale : all.scale) *
                     column.scale);
    }
  }
  CHECK(y == want);
}

TEST_CASE("a Conv2d that quantizes both operands gives what int8 products with exact sums give") {
  const std::string backend = GENERATE(from_range(backends()));
  constexpr std::size_t kIn = 3, kOut = 4, kSide = 5, kTaps = 9 * kIn;
  Value config =
      with("nn/Conv2d", {{"input_dims", kIn}, {"output_dims", kOut}, {"has_bias", false}});
  config.set("padding", "valid");
  config.set("parametrization", "nn/FakeQuantization");
  config.set("input_quantization", activations(false));
  const LayerFixture layer = made(backend, config);
  const std::vector<float> w = random_values(kTaps * kOut, 3);
  const std::vector<float> x = random_values(kSide * kSide * kIn, 4);
  layer.set("w", w);
  const Tensor image = layer.tensor(x, {1, kSide, kSide, kIn});
  const Integers inputs = integers_of(x, 0, 1, x.size());
  std::vector<float> want;
  for (std::size_t row = 0; row + 3 <= kSide; ++row) {
    for (std::size_t column = 0; column + 3 <= kSide; ++column) {
      for (std::size_t c = 0; c < kOut; ++c) {
        const Integers filter = integers_of(w, c, kOut, kTaps);
        std::int64_t sum = 0;
        for (std::size_t tap = 0; tap < kTaps; ++tap) {
          const std::size_t at_row = row + tap / (3 * kIn), at_column = column + tap / kIn % 3;
          sum += inputs.integers[(at_row * kSide + at_column) * kIn + tap % kIn] *
                 filter.integers[tap];
        }
        want.push_back(static_cast<float>(sum) * inputs.scale * filter.scale);
      }
    }
  }
  CHECK(layer.fprop(image).to_host<float>() == want);
}

// Against plain layers of the numbers that the quantizing layers give alone. Their products are of
// floats, so they differ by rounding.
TEST_CASE("gradients, bias and activation of quantized products are those of the rounded numbers") {
  const std::string backend = GENERATE(from_range(backends()));
  struct Case {
    Value config;
    Shape input, weights;
  };
  Value zero_point = quantized_linear(6, 4, true);
  zero_point.set("input_quantization",
                 with("nn/ActivationQuantization", {{"use_symmetric", false}}));
  Value blocks = quantized_linear(6, 4, true);
  blocks.set("parametrization", with("nn/FakeQuantization", {{"block_size", 3}}));
  Value conv = with("nn/Conv2d", {{"input_dims", 2}, {"output_dims", 4}});
  conv.set("parametrization", "nn/FakeQuantization");
  conv.set("input_quantization", activations(false));
  for (Case c :
       {Case{quantized_linear(6, 4, true), {3, 6}, {6, 4}},
        Case{quantized_linear(6, 4, false), {3, 6}, {6, 4}}, Case{zero_point, {3, 6}, {6, 4}},
        Case{blocks, {3, 6}, {6, 4}}, Case{conv, {2, 4, 3, 2}, {3, 3, 2, 4}}}) {
    c.config.set("activation", "nn/Tanh");
    Value plain_config = c.config;
    plain_config.erase("parametrization");
    plain_config.erase("input_quantization");
    const LayerFixture layer = made(backend, c.config), plain = made(backend, plain_config);
    const auto maker = [&](const char* field) {
      const Value* config = c.config.find(field);
      return config->is_string() ? LayerFixture(backend, config->as_string())
                                 : made(backend, *config);
    };
    const std::vector<float> w = random_values(c.weights.size(), 3), b = random_values(4, 4);
    const std::vector<float> x = random_values(c.input.size(), 5);
    const LayerFixture of_weights = maker("parametrization");
    const LayerFixture of_inputs = maker("input_quantization");
    layer.set("w", w);
    layer.set("b", b);
    plain.set("w", of_weights.fprop(of_weights.tensor(w, c.weights)).to_host<float>());
    plain.set("b", b);
    const std::vector<float> rounded =
        of_inputs.fprop(of_inputs.tensor(x, c.input)).to_host<float>();
    const auto got = trivet::test::step_of(layer.layer(), layer.store(), layer.tensor(x, c.input));
    const auto want =
        trivet::test::step_of(plain.layer(), plain.store(), plain.tensor(rounded, c.input));
    CHECK(largest_error(got.y, want.y) < 1e-5);
    CHECK(largest_error(got.gradients, want.gradients) < 1e-5);
    CHECK(largest_error(got.input_gradient, want.input_gradient) < 1e-5);
  }
}

TEST_CASE("feed-forward parts and attention hand input_quantization to all products") {
  const std::string backend = "tiny/Backend";
  const auto error = [&](const Value& config, const Shape& input) {
    Value rounded = config, wrong = config;
    rounded.set("input_quantization", "nn/ActivationQuantization");
    wrong.set("input_quantization", "nn/Flatten");
    const LayerFixture layer = made(backend, config), quantized = made(backend, rounded);
    const auto output = [&](const LayerFixture& of) {
      return of.fprop(of.tensor(random_values(input.size(), 5), input)).to_host<float>();
    };
    CHECK(output(layer) != output(quantized));
    const LayerFixture flat = made(backend, wrong);
    CHECK_THROWS_WITH(output(flat), Contains("of its input_quantization"));
  };
  error(with("nn/FeedForward", {{"input_dims", 4}}), {1, 3, 4});
  error(with("nn/MultiHeadAttention", {{"input_dims", 4}, {"num_heads", 2}}), {1, 3, 4});
}

TEST_CASE("a scale of the whole input does not decode with a cache") {
  const std::string backend = "tiny/Backend";
  Value attention = with("nn/MultiHeadAttention", {{"input_dims", 4}, {"num_heads", 2}});
  attention.set("causal", true);
  for (const Value& config : {with("nn/Linear", {{"input_dims", 4}, {"output_dims", 4}}),
                              with("nn/FeedForward", {{"input_dims", 4}}), attention}) {
    Value whole = config, rows = config;
    whole.set("input_quantization", activations(false));
    rows.set("input_quantization", activations(true));
    CHECK_NOTHROW(trivet::make_cache(made(backend, rows).layer(), "layer", 1, 4));
    CHECK_THROWS_WITH(trivet::make_cache(made(backend, whole).layer(), "layer", 1, 4),
                      Contains("cannot decode with a cache"));
  }
}

TEST_CASE("Conv2d refuses a scale for each pixel") {
  Value config = with("nn/Conv2d", {{"input_dims", 2}, {"output_dims", 4}});
  config.set("input_quantization", "nn/ActivationQuantization");
  CHECK_THROWS_WITH(made("tiny/Backend", config),
                    Contains("input_quantization: has a scale for each pixel"));
}

}  // namespace nn_quantized_product_test
