// SPDX-License-Identifier: Apache-2.0
// BregmanPca against its definition in double, with gradients by differences of the divergence.
#include "nn/basic/bregman_pca.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace nn_bregman_pca_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using Numbers = std::vector<double>;

constexpr std::size_t kBatch = 4, kDims = 6, kLast = 3, kComponents = 2;
constexpr int kSteps = 5, kStart = 3, kEnd = 13;
constexpr double kSlope = 0.25, kTolerance = 2e-4;

// The layer's arithmetic, from the published divergences; nothing of it knows their gradients.
struct Reference {
  std::string activation;
  Numbers mean = Numbers(kDims), components = {}, momentum = Numbers(kComponents * kDims);

  Numbers f(Numbers z) const {
    if (activation == "leaky_relu") {
      for (double& v : z) v = v > 0 ? v : kSlope * v;
    }
    for (std::size_t r = 0; r < z.size() && activation == "softmax"; r += kLast) {
      double total = 0;
      for (std::size_t i = r; i < r + kLast; ++i) total += std::exp(z[i]);
      for (std::size_t i = r; i < r + kLast; ++i) z[i] = std::exp(z[i]) / total;
    }
    return z;
  }

  Numbers inverse(Numbers x) const {
    if (activation == "leaky_relu") {
      for (double& v : x) v = v > 0 ? v : v / kSlope;
    }
    for (std::size_t r = 0; r < x.size() && activation == "softmax"; r += kLast) {
      double center = 0;
      for (std::size_t i = r; i < r + kLast; ++i) center += std::log(x[i]) / kLast;
      for (std::size_t i = r; i < r + kLast; ++i) x[i] = std::log(x[i]) - center;
    }
    return x;
  }

  // Bregman's definition: F(z) - F(z*) - f(z*) (z - z*), of F(z) = z^2 / 2, of the integral of the
  // leaky relu, of logsumexp.
  double integral(const Numbers& z) const {
    double sum = 0;
    for (const double v : z) {
      if (activation == "identity") sum += v * v / 2;
      if (activation == "leaky_relu") sum += v > 0 ? v * v / 2 : kSlope * v * v / 2;
    }
    for (std::size_t r = 0; r < z.size() && activation == "softmax"; r += kLast) {
      double total = 0;
      for (std::size_t i = r; i < r + kLast; ++i) total += std::exp(z[i]);
      sum += std::log(total);
    }
    return sum;
  }

  Numbers sums(const Numbers& c) const {
    Numbers z;
    for (std::size_t i = 0; i < kBatch * kDims; ++i) {
      double v = mean[i % kDims];
      for (std::size_t k = 0; k < kComponents; ++k) {
        v += c[i / kDims * kComponents + k] * components[k * kDims + i % kDims];
      }
      z.push_back(v);
    }
    return z;
  }

  double divergence(const Numbers& x, const Numbers& c) const {
    const Numbers z = sums(c), best = inverse(x);
    double linear = 0;
    for (std::size_t i = 0; i < z.size(); ++i) linear += x[i] * (z[i] - best[i]);
    return (integral(z) - integral(best) - linear) / kBatch;
  }

  // Central differences of `value` by the elements of `at`, scaled to length sqrt(size).
  static Numbers sized_gradient(Numbers& at, const std::function<double()>& value) {
    Numbers g;
    double squares = 0;
    for (double& v : at) {
      const double before = v;
      v = before + 1e-5;
      const double above = value();
      v = before - 1e-5;
      g.push_back((above - value()) / 2e-5);
      v = before;
      squares += g.back() * g.back();
    }
    for (double& v : g) {
      v *= std::sqrt(static_cast<double>(g.size())) / std::max(std::sqrt(squares), 1e-6);
    }
    return g;
  }

  Numbers coefficients(const Numbers& x) const {
    Numbers c(kBatch * kComponents), m(c.size());
    for (int k = 0; k < kSteps; ++k) {
      const Numbers g = sized_gradient(c, [&] { return divergence(x, c); });
      for (std::size_t i = 0; i < c.size(); ++i) {
        m[i] = 0.75 * m[i] + 0.25 * g[i];
        c[i] -= (1 - static_cast<double>(k) / kSteps) * 0.5 * m[i];
      }
    }
    return c;
  }

  // One training step; returns the coefficients.
  Numbers learn(const Numbers& x, double rate) {
    Numbers center(kDims);
    for (std::size_t i = 0; i < x.size(); ++i) center[i % kDims] += x[i] / kBatch;
    const Numbers pulled = inverse(center);
    for (std::size_t i = 0; i < kDims; ++i) mean[i] = 0.5 * mean[i] + 0.5 * pulled[i];
    const Numbers c = coefficients(x);
    const Numbers g = sized_gradient(components, [&] { return divergence(x, c); });
    for (std::size_t i = 0; i < g.size(); ++i) {
      momentum[i] = 0.5 * momentum[i] + 0.5 * g[i];
      components[i] -= rate * momentum[i];
    }
    return c;
  }
};

Value fields(const std::string& activation, const std::string& output, bool constant = true) {
  return Value::table({{"input_dims", kDims},
                       {"num_components", kComponents},
                       {"activation", activation},
                       {"negative_slope", kSlope},
                       {"output", output},
                       {"mean_beta", 0.5},
                       {"coefficients_lr", 0.5},
                       {"coefficients_beta", 0.75},
                       {"coefficients_steps", kSteps},
                       {"components_lr", 0.2},
                       {"components_beta", 0.5},
                       {"start_step", kStart},
                       {"end_step", kEnd},
                       {"constant_lr_schedule", constant}});
}

// Examples that are values of the activation.
std::vector<float> examples(const std::string& activation) {
  std::vector<float> x = random_values(kBatch * kDims, 3);
  for (std::size_t r = 0; r < x.size() && activation == "softmax"; r += kLast) {
    float total = 0;
    for (std::size_t i = r; i < r + kLast; ++i) total += std::exp(x[i]);
    for (std::size_t i = r; i < r + kLast; ++i) x[i] = std::exp(x[i]) / total;
  }
  return x;
}

Tensor step(const LayerFixture& layer, const Tensor& x, std::int64_t at, bool train = true) {
  FpropContext context;
  context.train = train;
  context.step = at;
  return layer.layer().fprop(x, context);
}

}  // namespace

TEST_CASE("BregmanPca learns its mean and components as defined") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string activation = GENERATE("identity", "leaky_relu", "softmax");
  const bool constant = GENERATE(true, false);
  INFO(backend << " " << activation);
  const LayerFixture layer(backend,
                           {"nn/BregmanPca", fields(activation, "coefficients", constant)});
  const std::vector<float> w = random_values(kComponents * kDims, 5);
  layer.set("components", w);
  Reference want{activation};
  want.components = {w.begin(), w.end()};
  const std::vector<float> values = examples(activation);
  const Numbers numbers(values.begin(), values.end());
  const Tensor x = layer.tensor(values, {kBatch, 2, kLast});
  for (const int at : {kStart, kStart + 5}) {
    const double rate = 0.2 * (constant ? 1 : 1 - (at - kStart) / 10.0);
    const Numbers c = want.learn(numbers, rate);
    const Tensor got = step(layer, x, at);
    CHECK(got.shape() == trivet::Shape{kBatch, kComponents});
    CHECK(largest_error(got.to_host<float>(), c) < kTolerance);
    CHECK(largest_error(layer.values("mean"), want.mean) < kTolerance);
    CHECK(largest_error(layer.values("components"), want.components) < kTolerance);
    CHECK(largest_error(layer.values("components_momentum"), want.momentum) < kTolerance);
  }
  // Outside the steps, and in evaluation, nothing is learned.
  for (const auto& [at, train] : {std::pair{kStart - 1, true}, {kEnd, true}, {kStart, false}}) {
    CHECK(largest_error(step(layer, x, at, train).to_host<float>(), want.coefficients(numbers)) <
          kTolerance);
    CHECK(largest_error(layer.values("components"), want.components) < kTolerance);
    CHECK(largest_error(layer.values("mean"), want.mean) < kTolerance);
  }
}

TEST_CASE("BregmanPca gives its reconstruction, or its inputs with their gradient") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string activation = GENERATE("identity", "leaky_relu", "softmax");
  const std::vector<float> w = random_values(kComponents * kDims, 5), values = examples(activation);
  const LayerFixture rebuilt(backend, {"nn/BregmanPca", fields(activation, "reconstruction")});
  rebuilt.set("components", w);
  Reference want{activation};
  want.components = {w.begin(), w.end()};
  const Numbers numbers(values.begin(), values.end());
  const Numbers c = want.coefficients(numbers);
  const Tensor y = step(rebuilt, rebuilt.tensor(values, {kBatch, 2, kLast}), 0, false);
  CHECK(y.shape() == trivet::Shape{kBatch, 2, kLast});
  CHECK(largest_error(y.to_host<float>(), want.f(want.sums(c))) < kTolerance);

  const LayerFixture passing(backend, {"nn/BregmanPca", fields(activation, "inputs")});
  passing.set("components", w);
  const auto whole = trivet::test::step_of(passing.layer(), passing.store(),
                                           passing.tensor(values, {kBatch, 2, kLast}));
  CHECK(whole.y == values);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(whole.input_gradient[i] == 2 * values[i]);
  FpropContext context;
  context.summaries.want();
  passing.layer().fprop(passing.tensor(values, {kBatch, 2, kLast}), context);
  REQUIRE(context.summaries.entries().size() == 1);
  CHECK(context.summaries.entries()[0].name == "layer/bregman_loss");
  // Softmax: the mean over the rows, two of them in each example.
  const double rows = activation == "softmax" ? 2 : 1;
  CHECK(std::get<double>(context.summaries.entries()[0].content) ==
        Approx(want.divergence(numbers, c) / rows).epsilon(1e-3));
}

TEST_CASE("BregmanPca finds the components of data that have as many") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Value config = fields("identity", "reconstruction");
  for (const auto& [name, value] :
       {std::pair<const char*, Value>{"coefficients_steps", 50}, {"end_step", 400}}) {
    config.set(name, value);
  }
  config.set("start_step", 0);
  config.set("components_lr", 0.05);
  config.set("constant_lr_schedule", false);
  const LayerFixture layer(backend, {"nn/BregmanPca", config});
  // Rank 2 around a mean.
  const std::vector<float> a = random_values(kBatch * 2, 7), b = random_values(2 * kDims, 8);
  std::vector<float> x;
  double size = 0;
  for (std::size_t i = 0; i < kBatch * kDims; ++i) {
    x.push_back(1 + a[i / kDims * 2] * b[i % kDims] + a[i / kDims * 2 + 1] * b[kDims + i % kDims]);
    size += std::pow(static_cast<double>(x.back()) - 1, 2);
  }
  const Tensor input = layer.tensor(x, {kBatch, kDims});
  const auto error = [&] {
    const std::vector<float> y = step(layer, input, 0, false).to_host<float>();
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += std::pow(static_cast<double>(y[i]) - static_cast<double>(x[i]), 2);
    }
    return sum / size;
  };
  for (int at = 0; at < 400; ++at) step(layer, input, at);
  CHECK(error() < 0.05);
}

TEST_CASE("BregmanPca reports bad configs and inputs") {
  Value config = fields("identity", "inputs");
  config.set("end_step", kStart);
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", {"nn/BregmanPca", config}),
                    Contains("end_step") && Contains("is not after start_step = 3"));
  const LayerFixture layer("tiny/Backend", {"nn/BregmanPca", fields("identity", "inputs")});
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {2, 7})),
                    Contains("[nn/BregmanPca] 'layer': expected [B, ..] with 6 numbers"));
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {6})), Contains("[B, ..]"));
  CHECK(step(layer, Tensor::zeros(layer.device(), {0, 6}), kStart).shape() == trivet::Shape{0, 6});
}

}  // namespace nn_bregman_pca_test
