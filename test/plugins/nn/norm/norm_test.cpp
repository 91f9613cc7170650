// SPDX-License-Identifier: Apache-2.0
// LayerNorm and BatchNorm against plain loops in double.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace nn_norm_test {
namespace {

using trivet::ConfigOf;
using trivet::FpropContext;
using trivet::Layer;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

// Sums of at most 90 squares in f32, then a root.
constexpr double kTolerance = 1e-5;

struct Moments {
  std::vector<double> mean, variance;  // biased
};

// Per column of rows [n, dim]; only rows whose `counted` is not 0.
Moments column_moments(const std::vector<float>& x, std::size_t dim,
                       const std::vector<float>& counted) {
  Moments moments{std::vector<double>(dim), std::vector<double>(dim)};
  for (std::size_t c = 0; c < dim; ++c) {
    double n = 0, sum = 0, squares = 0;
    for (std::size_t r = 0; r < x.size() / dim; ++r) {
      if (counted[r] == 0) continue;
      n += 1;
      sum += static_cast<double>(x[r * dim + c]);
    }
    const double mean = sum / n;
    for (std::size_t r = 0; r < x.size() / dim; ++r) {
      const double d = static_cast<double>(x[r * dim + c]) - mean;
      if (counted[r] != 0) squares += d * d;
    }
    moments.mean[c] = mean;
    moments.variance[c] = squares / n;
  }
  return moments;
}

std::vector<double> normalized(const std::vector<float>& x, const Moments& moments, double epsilon,
                               const std::vector<float>& gamma, const std::vector<float>& beta) {
  const std::size_t dim = gamma.size();
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % dim;
    const double z =
        (static_cast<double>(x[i]) - moments.mean[c]) / std::sqrt(moments.variance[c] + epsilon);
    y.push_back(z * static_cast<double>(gamma[c]) + static_cast<double>(beta[c]));
  }
  return y;
}

}  // namespace

TEST_CASE("LayerNorm normalizes each row with the biased variance") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  constexpr std::size_t dim = 11;
  LayerFixture fixture(backend, {"nn/LayerNorm", Value::table({{"dim", 11}, {"epsilon", 1e-3}})});
  const std::vector<float> scale = random_values(dim, 1), bias = random_values(dim, 2);
  fixture.set("scale", scale);
  fixture.set("bias", bias);
  const std::vector<float> x = random_values(2 * 3 * dim, 3, 4);
  std::vector<double> want;
  for (std::size_t row = 0; row < 6; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < dim; ++i) mean += static_cast<double>(x[row * dim + i]) / dim;
    for (std::size_t i = 0; i < dim; ++i) {
      variance += std::pow(static_cast<double>(x[row * dim + i]) - mean, 2) / dim;
    }
    for (std::size_t i = 0; i < dim; ++i) {
      const double z = (static_cast<double>(x[row * dim + i]) - mean) / std::sqrt(variance + 1e-3);
      want.push_back(z * static_cast<double>(scale[i]) + static_cast<double>(bias[i]));
    }
  }
  const Tensor y = fixture.fprop(fixture.tensor(x, {2, 3, 11}));
  CHECK(y.shape() == trivet::Shape{2, 3, 11});
  CHECK(largest_error(y.to_host<float>(), want) < kTolerance);
}

TEST_CASE("LayerNorm starts as the plain normalization, with or without parameters") {
  // (1, 3): mean 2, variance 1, so (-1, 1) up to epsilon 1e-6.
  const bool learned = GENERATE(true, false);
  LayerFixture fixture(
      "tiny/Backend",
      {"nn/LayerNorm", Value::table({{"dim", 2}, {"use_scale", learned}, {"use_bias", learned}})});
  CHECK(fixture.store().parameters().size() == (learned ? 2u : 0u));
  const std::vector<float> y = fixture.fprop(fixture.tensor({1, 3}, {1, 2})).to_host<float>();
  CHECK(y[0] == Approx(-1).epsilon(1e-6));
  CHECK(y[1] == Approx(1).epsilon(1e-6));
}

TEST_CASE("GroupNorm normalizes groups of channels of each example alone") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  constexpr std::size_t examples = 3, positions = 4, groups = 3, depth = 2, dim = groups * depth;
  LayerFixture fixture(backend, {"nn/GroupNorm", Value::table({{"dim", 6}, {"num_groups", 3}})});
  const std::vector<float> scale = random_values(dim, 1), bias = random_values(dim, 2);
  fixture.set("scale", scale);
  fixture.set("bias", bias);
  const std::vector<float> x = random_values(examples * positions * dim, 3, 4);
  std::vector<double> want(x.size());
  for (std::size_t b = 0; b < examples; ++b) {
    for (std::size_t g = 0; g < groups; ++g) {
      const auto each = [&](auto&& visit) {
        for (std::size_t p = 0; p < positions; ++p) {
          for (std::size_t c = 0; c < depth; ++c) visit((b * positions + p) * dim + g * depth + c);
        }
      };
      double mean = 0, variance = 0;
      each([&](std::size_t i) { mean += static_cast<double>(x[i]) / (positions * depth); });
      each([&](std::size_t i) {
        variance += std::pow(static_cast<double>(x[i]) - mean, 2) / (positions * depth);
      });
      each([&](std::size_t i) {
        want[i] = (static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-3) *
                      static_cast<double>(scale[i % dim]) +
                  static_cast<double>(bias[i % dim]);
      });
    }
  }
  const Tensor y = fixture.fprop(fixture.tensor(x, {3, 2, 2, 6}));
  CHECK(y.shape() == trivet::Shape{3, 2, 2, 6});
  CHECK(largest_error(y.to_host<float>(), want) < kTolerance);
  CHECK(fixture.fprop(Tensor::zeros(fixture.device(), {0, 2, 6})).shape() ==
        trivet::Shape{0, 2, 6});
}

TEST_CASE("GroupNorm reports mismatched inputs") {
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", {"nn/GroupNorm", Value::table({{"dim", 6}})}),
                    Catch::Contains("num_groups") && Catch::Contains("does not divide dim = 6"));
  LayerFixture fixture("tiny/Backend",
                       {"nn/GroupNorm", Value::table({{"dim", 4}, {"num_groups", 2}})});
  CHECK_THROWS_WITH(fixture.fprop(Tensor::zeros(fixture.device(), {4})),
                    Catch::Contains("[nn/GroupNorm] 'layer': expected [B, .., 4]"));
  CHECK_THROWS_WITH(fixture.fprop(Tensor::zeros(fixture.device(), {2, 5})),
                    Catch::Contains("[.., 4]"));
}

TEST_CASE("BatchNorm normalizes channels by the batch in training and follows its moments") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture fixture(backend, {"nn/BatchNorm", Value::table({{"dim", 3}, {"momentum", 0.75}})});
  const std::vector<float> gamma = random_values(3, 1), beta = random_values(3, 2);
  fixture.set("gamma", gamma);
  fixture.set("beta", beta);
  const std::vector<float> x = random_values(2 * 3 * 5 * 3, 3, 2);
  const Moments moments = column_moments(x, 3, std::vector<float>(30, 1));
  const Tensor y = fixture.fprop(fixture.tensor(x, {2, 3, 5, 3}), true);
  CHECK(y.shape() == trivet::Shape{2, 3, 5, 3});
  CHECK(largest_error(y.to_host<float>(), normalized(x, moments, 1e-3, gamma, beta)) < kTolerance);
  std::vector<double> moving_mean, moving_variance;
  for (std::size_t c = 0; c < 3; ++c) {
    moving_mean.push_back(0.25 * moments.mean[c]);
    moving_variance.push_back(0.75 + 0.25 * moments.variance[c]);
  }
  CHECK(largest_error(fixture.values("moving_mean"), moving_mean) < kTolerance);
  CHECK(largest_error(fixture.values("moving_variance"), moving_variance) < kTolerance);
}

TEST_CASE("BatchNorm's activation comes last, in training, in evaluation and with padding") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool fused = GENERATE(true, false);  // fused, or a separate layer
  const Value plain = Value::table({{"dim", 2}});
  Value activated = plain;
  if (fused) {
    activated.set("activation", "nn/Relu");
  } else {
    Value sequence = Value::table({{"type", "nn/Sequential"}});
    sequence.set("layers", Value::array({"nn/Sigmoid"}));
    activated.set("activation", sequence);
  }
  LayerFixture bare(backend, {"nn/BatchNorm", plain}), layer(backend, {"nn/BatchNorm", activated});
  const std::vector<float> x = random_values(12, 6);
  const auto check = [&](const char* how, bool train, bool padded) {
    INFO(backend << (fused ? " relu, " : " sigmoid, ") << how);
    FpropContext context;
    context.train = train;
    if (padded) context.paddings = bare.tensor({0, 1, 0, 0, 1, 0}, {2, 3});
    const auto before = bare.layer().fprop(bare.tensor(x, {2, 3, 2}), context).to_host<float>();
    if (padded) context.paddings = layer.tensor({0, 1, 0, 0, 1, 0}, {2, 3});
    std::vector<double> want;
    for (const float v : before) {
      const auto z = static_cast<double>(v);
      want.push_back(fused ? std::max(z, 0.0) : 1 / (1 + std::exp(-z)));
    }
    const auto got = layer.layer().fprop(layer.tensor(x, {2, 3, 2}), context).to_host<float>();
    CHECK(largest_error(got, want) < kTolerance);
  };
  check("training", true, false);
  check("training with padding", true, true);
  check("evaluation", false, false);
}

TEST_CASE("BatchNorm's gamma has its own initializer") {
  LayerFixture zero(
      "tiny/Backend",
      {"nn/BatchNorm",
       Value::table(
           {{"dim", 2}, {"scale_init", Value::table({{"method", "constant"}, {"scale", 0.0}})}})});
  CHECK(zero.values("gamma") == std::vector<float>{0, 0});
  CHECK(zero.fprop(zero.tensor({1, 2, 3, 5}, {2, 2}), true).to_host<float>() ==
        std::vector<float>(4, 0));
}

TEST_CASE("BatchNorm's variance keeps its digits where the mean is large") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture fixture(backend, {"nn/BatchNorm", Value::table({{"dim", 1}, {"momentum", 0.0}})});
  // 1000 +- 0.5: variance 0.25, which mean(x^2) - mean^2 in f32 (steps of 0.06) cannot resolve.
  std::vector<float> x;
  for (int i = 0; i < 1000; ++i) x.push_back(i % 2 == 0 ? 1000.5F : 999.5F);
  fixture.fprop(fixture.tensor(x, {1000, 1}), true);
  CHECK(fixture.values("moving_mean")[0] == Approx(1000).epsilon(1e-6));
  CHECK(fixture.values("moving_variance")[0] == Approx(0.25).epsilon(1e-4));
}

TEST_CASE("BatchNorm uses its moving averages in evaluation and leaves them alone") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  LayerFixture fixture(backend, {"nn/BatchNorm", Value::table({{"dim", 2}})});
  fixture.set("moving_mean", {1, -2});
  fixture.set("moving_variance", {4, 0.25f});
  const std::vector<float> x = random_values(10, 4);
  const Moments moments{{1, -2}, {4, 0.25}};
  const Tensor y = fixture.fprop(fixture.tensor(x, {5, 2}));
  CHECK(largest_error(y.to_host<float>(), normalized(x, moments, 1e-3, {1, 1}, {0, 0})) <
        kTolerance);
  CHECK(fixture.values("moving_mean") == std::vector<float>{1, -2});
  CHECK(fixture.values("moving_variance") == std::vector<float>{4, 0.25f});
}

TEST_CASE("BatchNorm's states are saved with the weights but not trained") {
  LayerFixture fixture("tiny/Backend", {"nn/BatchNorm", Value::table({{"dim", 2}})});
  CHECK_FALSE(fixture.parameter("moving_mean").trainable());
  CHECK_FALSE(fixture.parameter("moving_variance").trainable());
  CHECK(fixture.parameter("gamma").trainable());
  CHECK(fixture.values("moving_mean") == std::vector<float>{0, 0});
  CHECK(fixture.values("moving_variance") == std::vector<float>{1, 1});
}

TEST_CASE("padded positions do not count in BatchNorm's moments") {
  LayerFixture fixture(GENERATE(from_range(trivet::test::backends())),
                       {"nn/BatchNorm", Value::table({{"dim", 2}, {"momentum", 0.0}})});
  const std::vector<float> x = random_values(2 * 4 * 2, 5);
  const std::vector<float> padding{0, 0, 0, 1, 0, 1, 1, 1};
  std::vector<float> counted;
  for (const float p : padding) counted.push_back(1 - p);
  const Moments moments = column_moments(x, 2, counted);
  FpropContext context;
  context.train = true;
  context.paddings = fixture.tensor(padding, {2, 4});
  fixture.layer().fprop(fixture.tensor(x, {2, 4, 2}), context);
  CHECK(largest_error(fixture.values("moving_mean"), moments.mean) < kTolerance);
  CHECK(largest_error(fixture.values("moving_variance"), moments.variance) < kTolerance);
}

TEST_CASE("a batch of padding alone leaves BatchNorm's moments numbers") {
  LayerFixture fixture(GENERATE(from_range(trivet::test::backends())),
                       {"nn/BatchNorm", Value::table({{"dim", 2}, {"momentum", 0.5}})});
  FpropContext context;
  context.train = true;
  context.paddings = fixture.tensor({1, 1, 1}, {1, 3});
  fixture.layer().fprop(fixture.tensor(random_values(6, 5), {1, 3, 2}), context);
  // Mean and variance over nothing are 0.
  CHECK(fixture.values("moving_mean") == std::vector<float>{0, 0});
  CHECK(fixture.values("moving_variance") == std::vector<float>{0.5, 0.5});
}

TEST_CASE("norms name themselves when the depth is wrong") {
  LayerFixture layer_norm("tiny/Backend", {"nn/LayerNorm", Value::table({{"dim", 3}})});
  CHECK_THROWS_WITH(layer_norm.fprop(Tensor::zeros(layer_norm.device(), {2, 4})),
                    Catch::Contains("[nn/LayerNorm] 'layer': expected [.., 3]"));
  LayerFixture batch_norm("tiny/Backend", {"nn/BatchNorm", Value::table({{"dim", 3}})});
  CHECK_THROWS_WITH(batch_norm.fprop(Tensor::zeros(batch_norm.device(), {2, 4})),
                    Catch::Contains("[nn/BatchNorm] 'layer': expected [.., 3]"));
}

}  // namespace nn_norm_test
