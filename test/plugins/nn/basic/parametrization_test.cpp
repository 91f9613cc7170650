// SPDX-License-Identifier: Apache-2.0
// Weights made from a parameter: weight normalization, spectral normalization, fake quantization,
// against plain loops in double, alone and inside nn/Linear and nn/Conv2d.
#include "nn/basic/parametrization.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/remat.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_parametrization_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Layer;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::with;

constexpr double kTolerance = 1e-5;
constexpr std::size_t kRows = 6, kDim = 4;

using Matrix = std::vector<double>;  // [kRows, kDim]

Matrix matrix(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Salimans and Kingma 2016, equation 2.
Matrix weight_norm(const Matrix& v, const std::vector<float>& g) {
  Matrix w = v;
  for (std::size_t c = 0; c < kDim; ++c) {
    double squares = 0;
    for (std::size_t r = 0; r < kRows; ++r) squares += v[r * kDim + c] * v[r * kDim + c];
    for (std::size_t r = 0; r < kRows; ++r) {
      w[r * kDim + c] *= static_cast<double>(g[c]) / std::sqrt(squares);
    }
  }
  return w;
}

// Miyato et al. 2018, algorithm 1, where `u` is of the columns; u becomes the next one.
Matrix spectral_norm(const Matrix& w, std::vector<double>& u, int iterations) {
  std::vector<double> v(kRows);
  const auto unit = [](std::vector<double>& x) {
    double squares = 0;
    for (const double e : x) squares += e * e;
    for (double& e : x) e /= std::sqrt(squares);
  };
  for (int i = 0; i < iterations; ++i) {
    for (std::size_t r = 0; r < kRows; ++r) {
      v[r] = 0;
      for (std::size_t c = 0; c < kDim; ++c) v[r] += w[r * kDim + c] * u[c];
    }
    unit(v);
    for (std::size_t c = 0; c < kDim; ++c) {
      u[c] = 0;
      for (std::size_t r = 0; r < kRows; ++r) u[c] += w[r * kDim + c] * v[r];
    }
    unit(u);
  }
  double sigma = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sigma += v[i / kDim] * w[i] * u[i % kDim];
  Matrix y = w;
  for (double& e : y) e /= sigma;
  return y;
}

Matrix quantized(const Matrix& w, double largest) {
  Matrix y = w;
  for (std::size_t c = 0; c < kDim; ++c) {
    double most = 0;
    for (std::size_t r = 0; r < kRows; ++r) most = std::max(most, std::abs(w[r * kDim + c]));
    const double scale = most / largest;
    for (std::size_t r = 0; r < kRows && most > 0; ++r) {
      y[r * kDim + c] = scale * std::floor(w[r * kDim + c] / scale + 0.5);
    }
  }
  return y;
}

LayerFixture alone(const std::string& backend, const char* type) {
  return {backend, {type, Value::table({{"dim", kDim}})}};
}

// Starts a SpectralNorm from one state in every call.
class FromStart final : public Layer {
 public:
  FromStart(const LayerFixture& fixture, std::vector<float> u)
      : fixture_(fixture), u_(std::move(u)) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    fixture_.set("u", u_);
    return fixture_.layer().fprop(x, context);
  }

 private:
  const LayerFixture& fixture_;
  std::vector<float> u_;
};

class Remat final : public Layer {
 public:
  explicit Remat(Layer& layer) : layer_(layer) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    return trivet::remat(layer_, x, context);
  }

 private:
  Layer& layer_;
};

const std::vector<float> kWeights = random_values(kRows * kDim, 3);

}  // namespace

TEST_CASE("WeightNormL2 gives each column its learned length") {
  const LayerFixture norm =
      alone(GENERATE(from_range(trivet::test::backends())), "nn/WeightNormL2");
  CHECK(norm.values("g") == std::vector<float>(kDim, 1));
  const std::vector<float> g = random_values(kDim, 4);
  norm.set("g", g);
  const Tensor w = norm.fprop(norm.tensor(kWeights, {3, 2, kDim}));
  CHECK(w.shape() == trivet::Shape{3, 2, kDim});
  CHECK(largest_error(w.to_host<float>(), weight_norm(matrix(kWeights), g)) < kTolerance);
  CHECK(trivet::testing::check_layer_gradients(norm.layer(), norm.store(),
                                               norm.tensor(kWeights, {kRows, kDim})) == "");
}

TEST_CASE("SpectralNorm divides by the estimate of the largest singular value") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const int iterations = GENERATE(1, 3);
  const LayerFixture norm(
      backend,
      {"nn/SpectralNorm", Value::table({{"dim", kDim}, {"n_power_iteration", iterations}})});
  CHECK_FALSE(norm.parameter("u").trainable());
  const std::vector<float> start = random_values(kDim, 5);
  norm.set("u", start);
  std::vector<double> u(start.begin(), start.end());
  const Tensor x = norm.tensor(kWeights, {kRows, kDim});
  const Matrix want = spectral_norm(matrix(kWeights), u, iterations);
  // Evaluation leaves the state alone.
  CHECK(largest_error(norm.fprop(x).to_host<float>(), want) < kTolerance);
  CHECK(norm.values("u") == start);
  CHECK(largest_error(norm.fprop(x, true).to_host<float>(), want) < kTolerance);
  CHECK(largest_error(norm.values("u"), u) < kTolerance);
  // The next step starts where this one ended.
  const Matrix next = spectral_norm(matrix(kWeights), u, iterations);
  CHECK(largest_error(norm.fprop(x, true).to_host<float>(), next) < kTolerance);
}

TEST_CASE("SpectralNorm finds the largest singular value") {
  // Columns of lengths 3, 2, 1 and 0.5 at right angles.
  std::vector<float> w(kRows * kDim);
  const float lengths[] = {3, 2, 1, 0.5F};
  for (std::size_t c = 0; c < kDim; ++c) w[(c + 1) * kDim + c] = lengths[c];
  const LayerFixture norm = alone("tiny/Backend", "nn/SpectralNorm");
  const Tensor x = norm.tensor(w, {kRows, kDim});
  for (int i = 0; i < 40; ++i) norm.fprop(x, true);
  const std::vector<float> y = norm.fprop(x).to_host<float>();
  for (std::size_t i = 0; i < w.size(); ++i) CHECK(y[i] == Approx(w[i] / 3).margin(1e-6));
  // Weights of 0 have no direction and stay.
  CHECK(norm.fprop(norm.tensor(std::vector<float>(kRows * kDim), {kRows, kDim})).to_host<float>() ==
        std::vector<float>(kRows * kDim));
}

TEST_CASE("gradients of SpectralNorm flow through sigma but not through its vectors") {
  const LayerFixture norm =
      alone(GENERATE(from_range(trivet::test::backends())), "nn/SpectralNorm");
  // At the singular vectors sigma's gradient is exact: equation 9 of the paper is v u^T.
  const Tensor x = norm.tensor(kWeights, {kRows, kDim});
  for (int i = 0; i < 200; ++i) norm.fprop(x, true);
  FromStart layer(norm, norm.values("u"));
  CHECK(trivet::testing::check_layer_gradients(layer, norm.store(), x) == "");
}

TEST_CASE("SpectralNorm is computed again bit for bit") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture kept = alone(backend, "nn/SpectralNorm"),
                     dropped = alone(backend, "nn/SpectralNorm");
  const auto want =
      trivet::test::step_of(kept.layer(), kept.store(), kept.tensor(kWeights, {kRows, kDim}));
  Remat again(dropped.layer());
  const auto got =
      trivet::test::step_of(again, dropped.store(), dropped.tensor(kWeights, {kRows, kDim}));
  trivet::test::check_equal(got, want);
  CHECK(dropped.values("u") == kept.values("u"));
}

TEST_CASE("FakeQuantization rounds each column to integers of its scale") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  std::vector<float> w = kWeights;
  for (std::size_t r = 0; r < kRows; ++r) w[r * kDim] = 0;
  const auto [bits, largest] = GENERATE(std::pair{8, 127.0}, std::pair{4, 7.0}, std::pair{2, 1.0});
  const LayerFixture layer(backend, {"nn/FakeQuantization", Value::table({{"bits", bits}})});
  const Tensor x = layer.tensor(w, {kRows, kDim});
  const Tensor y = layer.fprop(x);
  CHECK(largest_error(y.to_host<float>(), quantized(matrix(w), largest)) < 1e-6);
  // The straight-through gradient of sum(y^2) is 2 y.
  const auto step = trivet::test::step_of(layer.layer(), layer.store(), x);
  std::vector<double> want;
  for (const float v : step.y) want.push_back(2 * static_cast<double>(v));
  CHECK(largest_error(step.input_gradient, want) < 1e-6);
}

TEST_CASE("Linear and Conv2d use the weights that their parametrization makes") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string type =
      GENERATE("nn/WeightNormL2", "nn/SpectralNorm", "nn/FakeQuantization", "nn/Tanh");
  INFO(backend << " " << type);
  struct Case {
    const char* layer;
    trivet::Shape input, weights;
  };
  for (const Case& c :
       {Case{"nn/Linear", {5, 6}, {6, 4}}, Case{"nn/Conv2d", {2, 4, 3, 2}, {3, 3, 2, 4}}}) {
    Value config =
        with(c.layer, {{"input_dims", c.weights[c.weights.rank() - 2]}, {"output_dims", 4}});
    const LayerFixture plain = made(backend, config);
    config.set("parametrization", type);
    const LayerFixture layer = made(backend, config);
    if (type == "nn/WeightNormL2") layer.set("parametrization/g", random_values(4, 2));
    const std::vector<float> w = random_values(c.weights.size(), 3), b = random_values(4, 4);
    layer.set("w", w);
    layer.set("b", b);
    plain.set("b", b);
    const LayerFixture maker = type == "nn/Tanh" || type == "nn/FakeQuantization"
                                   ? LayerFixture(backend, type)
                                   : LayerFixture(backend, {type, Value::table({{"dim", 4}})});
    for (const char* name : {"g", "u"}) {
      const std::string path = std::string("layer/parametrization/") + name;
      if (layer.store().find(path) == nullptr) continue;
      maker.set(name, layer.values(std::string("parametrization/") + name));
    }
    plain.set("w", maker.fprop(maker.tensor(w, c.weights)).to_host<float>());
    const std::vector<float> x = random_values(c.input.size(), 5);
    CHECK(largest_error(layer.fprop(layer.tensor(x, c.input)).to_host<float>(),
                        plain.fprop(plain.tensor(x, c.input)).to_host<float>()) < 1e-6);
    if (type == "nn/FakeQuantization" || type == "nn/SpectralNorm") continue;
    CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(),
                                                 layer.tensor(x, c.input)) == "");
  }
}

TEST_CASE("feed-forward parts and attention hand their parametrization to all products") {
  Value config = with("nn/FeedForward", {{"input_dims", 4}, {"use_gated_activation", true}});
  config.set("parametrization", "nn/WeightNormL2");
  const LayerFixture mlp = made("tiny/Backend", config);
  for (const char* name : {"in", "gate", "out"}) {
    CHECK(mlp.parameter(std::string(name) + "/parametrization/g").shape() ==
          trivet::Shape{mlp.parameter(std::string(name) + "/w").shape()[1]});
  }
  config = with("nn/MultiHeadAttention", {{"input_dims", 4}, {"num_heads", 2}});
  config.set("parametrization", "nn/WeightNormL2");
  const LayerFixture attention = made("tiny/Backend", config);
  for (const char* name : {"query", "key", "value", "output"}) {
    CHECK(attention.parameter(std::string(name) + "/parametrization/g").shape() ==
          trivet::Shape{4});
  }
}

TEST_CASE("parametrizations report bad configs and weights") {
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", "nn/SpectralNorm"),
                    Contains("[nn/SpectralNorm] 'layer': dim is not set"));
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", "nn/WeightNormL2"), Contains("dim is not set"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", {"nn/FakeQuantization", Value::table({{"bits", 1}})}),
      Contains("bits"));
  Value config = with("nn/Linear", {{"input_dims", 6}, {"output_dims", 4}});
  config.set("parametrization", with("nn/SpectralNorm", {{"dim", 3}}));
  const LayerFixture other = made("tiny/Backend", config);
  CHECK_THROWS_WITH(other.fprop(Tensor::zeros(other.device(), {2, 6})),
                    Contains("[nn/SpectralNorm] 'layer/parametrization': expected [.., 3]"));
  config.set("parametrization", "nn/Flatten");
  const LayerFixture flat =
      made("tiny/Backend",
           with("nn/Conv2d",
                {{"input_dims", 2}, {"output_dims", 4}, {"parametrization", "nn/Flatten"}}));
  CHECK_THROWS_WITH(flat.fprop(Tensor::zeros(flat.device(), {1, 3, 3, 2})),
                    Contains("[nn/Conv2d] 'layer'") && Contains("of its parametrization"));
}

}  // namespace nn_parametrization_test
