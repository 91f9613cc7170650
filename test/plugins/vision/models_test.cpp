// SPDX-License-Identifier: Apache-2.0
// Mlp and Cnn: parameter names, outputs, and agreement with their parts.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <catch2/catch.hpp>

#include "model_fixture.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"
#include "vision/cnn.h"
#include "vision/mlp.h"

namespace vision_models_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::random_values;
namespace vision = trivet::vision;

template <class Model>
using Fixture = trivet::test::ModelFixture<Model>;
using Shapes = std::map<std::string, std::string>;
using Row = std::vector<double>;

// x w + b in double.
Row affine(const Row& x, const std::vector<float>& w, const std::vector<float>& b) {
  Row y(b.begin(), b.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t o = 0; o < y.size(); ++o) {
      y[o] += x[i] * static_cast<double>(w[i * y.size() + o]);
    }
  }
  return y;
}

Row relu(Row x) {
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}

// [h, w, in], "same" with a 3 x 3 filter [3, 3, in, out], then relu.
Row convolve(const Row& x, std::size_t h, std::size_t w, std::size_t in,
             const std::vector<float>& filter, const std::vector<float>& bias) {
  const std::size_t out = bias.size();
  Row y;
  for (std::size_t r = 0; r < h; ++r) {
    for (std::size_t c = 0; c < w; ++c) {
      for (std::size_t o = 0; o < out; ++o) {
        auto sum = static_cast<double>(bias[o]);
        for (std::size_t tap = 0; tap < 9 * in; ++tap) {
          const std::size_t row = r + tap / (3 * in), column = c + tap / in % 3;
          if (row < 1 || row > h || column < 1 || column > w) continue;
          sum += x[((row - 1) * w + column - 1) * in + tap % in] *
                 static_cast<double>(filter[tap * out + o]);
        }
        y.push_back(std::max(sum, 0.0));
      }
    }
  }
  return y;
}

// 2 x 2 in steps of 2; incomplete windows are dropped.
Row pool(const Row& x, std::size_t h, std::size_t w, std::size_t depth) {
  Row y;
  for (std::size_t r = 0; r < h / 2; ++r) {
    for (std::size_t c = 0; c < w / 2; ++c) {
      for (std::size_t d = 0; d < depth; ++d) {
        const auto at = [&](std::size_t i, std::size_t j) {
          return x[((2 * r + i) * w + 2 * c + j) * depth + d];
        };
        y.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
      }
    }
  }
  return y;
}

vision::MlpConfig small_mlp() {
  vision::MlpConfig config;
  config.image_shape = {4, 3, 2};
  config.hidden_dims = {8, 5};
  config.num_classes = 7;
  return config;
}

vision::CnnConfig small_cnn() {
  vision::CnnConfig config;
  config.image_shape = {7, 4, 2};
  config.channels = {3, 5};
  config.hidden_dims = 6;
  config.num_classes = 4;
  return config;
}

// Sums of at most a hundred products in f32.
constexpr double kTolerance = 1e-5;

}  // namespace

TEST_CASE("an Mlp's parameters are called after their layers") {
  CHECK(Fixture<vision::Mlp>(small_mlp()).shapes() == Shapes{{"hidden_0/w", "[24, 8]"},
                                                             {"hidden_0/b", "[8]"},
                                                             {"hidden_1/w", "[8, 5]"},
                                                             {"hidden_1/b", "[5]"},
                                                             {"output/w", "[5, 7]"},
                                                             {"output/b", "[7]"}});
}

TEST_CASE("an Mlp without hidden layers is a linear classifier") {
  vision::MlpConfig config = small_mlp();
  config.hidden_dims.clear();
  CHECK(Fixture<vision::Mlp>(config).shapes() ==
        Shapes{{"output/w", "[24, 7]"}, {"output/b", "[7]"}});
}

TEST_CASE("an Mlp returns the logits of its layers, one row per image") {
  Fixture<vision::Mlp> mlp(small_mlp());
  const std::vector<float> pixels = random_values(2 * 24, 3);
  const Tensor logits = mlp.logits(pixels, {2, 4, 3, 2});
  CHECK(logits.shape().to_string() == "[2, 7]");
  Row expected;
  for (std::size_t image = 0; image < 2; ++image) {
    Row x(pixels.begin() + static_cast<std::ptrdiff_t>(24 * image),
          pixels.begin() + static_cast<std::ptrdiff_t>(24 * image + 24));
    x = relu(affine(x, mlp.values("hidden_0/w"), mlp.values("hidden_0/b")));
    x = relu(affine(x, mlp.values("hidden_1/w"), mlp.values("hidden_1/b")));
    x = affine(x, mlp.values("output/w"), mlp.values("output/b"));
    expected.insert(expected.end(), x.begin(), x.end());
  }
  CHECK(largest_error(logits.to_host<float>(), expected) < kTolerance);
}

TEST_CASE("a Cnn's parameters are called after their layers") {
  // 7 x 4 is halved to 3 x 2 and 1 x 1.
  CHECK(Fixture<vision::Cnn>(small_cnn()).shapes() == Shapes{{"conv_0/w", "[3, 3, 2, 3]"},
                                                             {"conv_0/b", "[3]"},
                                                             {"conv_1/w", "[3, 3, 3, 5]"},
                                                             {"conv_1/b", "[5]"},
                                                             {"hidden/w", "[5, 6]"},
                                                             {"hidden/b", "[6]"},
                                                             {"output/w", "[6, 4]"},
                                                             {"output/b", "[4]"}});
}

TEST_CASE("a Cnn halves odd sides downwards and uses the kernel of its config") {
  vision::CnnConfig config = small_cnn();
  config.image_shape = {4, 11, 2};  // 4 x 11 -> 2 x 5 -> 1 x 2
  config.kernel = 5;
  const Shapes shapes = Fixture<vision::Cnn>(config).shapes();
  CHECK(shapes.at("conv_0/w") == "[5, 5, 2, 3]");
  CHECK(shapes.at("conv_1/w") == "[5, 5, 3, 5]");
  CHECK(shapes.at("hidden/w") == "[10, 6]");
}

TEST_CASE("a Cnn returns the logits of its blocks and layers, one row per image") {
  Fixture<vision::Cnn> cnn(small_cnn());
  const std::vector<float> pixels = random_values(2 * 56, 3);
  const Tensor logits = cnn.logits(pixels, {2, 7, 4, 2});
  CHECK(logits.shape().to_string() == "[2, 4]");
  Row expected;
  for (std::size_t image = 0; image < 2; ++image) {
    Row x(pixels.begin() + static_cast<std::ptrdiff_t>(56 * image),
          pixels.begin() + static_cast<std::ptrdiff_t>(56 * image + 56));
    x = pool(convolve(x, 7, 4, 2, cnn.values("conv_0/w"), cnn.values("conv_0/b")), 7, 4, 3);
    x = pool(convolve(x, 3, 2, 3, cnn.values("conv_1/w"), cnn.values("conv_1/b")), 3, 2, 5);
    x = relu(affine(x, cnn.values("hidden/w"), cnn.values("hidden/b")));
    x = affine(x, cnn.values("output/w"), cnn.values("output/b"));
    expected.insert(expected.end(), x.begin(), x.end());
  }
  CHECK(largest_error(logits.to_host<float>(), expected) < kTolerance);
}

TEST_CASE("all weights of a model start as its init sets them") {
  vision::MlpConfig mlp = small_mlp();
  mlp.init = {trivet::Init::constant, 0.25};
  vision::CnnConfig cnn = small_cnn();
  cnn.init = mlp.init;
  const auto check = [](const auto& fixture) {
    for (const auto& parameter : fixture.store.parameters()) {
      INFO(parameter->path());
      const bool is_bias = parameter->path().ends_with("/b");
      const auto count = static_cast<std::size_t>(parameter->shape().size());
      CHECK(fixture.values(parameter->path()) == std::vector<float>(count, is_bias ? 0 : 0.25F));
    }
  };
  check(Fixture<vision::Mlp>(mlp));
  check(Fixture<vision::Cnn>(cnn));
}

TEST_CASE("dropout changes the logits in training only") {
  vision::MlpConfig with = small_mlp();
  with.dropout = 0.5;
  Fixture<vision::Mlp> plain(small_mlp()), dropping(with);
  const std::vector<float> pixels = random_values(24, 3);
  const Shape shape{1, 4, 3, 2};
  const auto expected = plain.logits(pixels, shape).to_host<float>();
  CHECK(dropping.logits(pixels, shape).to_host<float>() == expected);
  CHECK(dropping.logits(pixels, shape, true).to_host<float>() != expected);

  vision::CnnConfig cnn = small_cnn();
  cnn.dropout = 0.5;
  Fixture<vision::Cnn> dropping_cnn(cnn);
  const std::vector<float> more = random_values(56, 3);
  CHECK(dropping_cnn.logits(more, {1, 7, 4, 2}).to_host<float>() !=
        dropping_cnn.logits(more, {1, 7, 4, 2}, true).to_host<float>());
}

// One pixel of 1 goes to 500 units of 1, of which a quarter stay, as 1 / (1 - 0.75); their sum is a
// multiple of 4 for that rate alone.
TEST_CASE("dropout has the rate of the config") {
  const std::vector<float> pixels(8, 1);
  const auto check = [&](auto& fixture, const std::string& hidden) {
    fixture.store.find(hidden + "/w")->assign(Tensor::full(*fixture.device, {1, 500}, 1));
    fixture.store.find("output/w")->assign(Tensor::full(*fixture.device, {500, 2}, 1));
    for (const float logit : fixture.logits(pixels, {8, 1, 1, 1}, true).template to_host<float>()) {
      CHECK(std::fmod(logit, 4.0F) == 0);
      CHECK(logit ==
            Approx(500).margin(200));  // 5 standard deviations: 4 sqrt(500 / 4 * 3 / 4) each
    }
  };
  vision::MlpConfig mlp;
  mlp.image_shape = {1, 1, 1};
  mlp.hidden_dims = {500};
  mlp.num_classes = 2;
  mlp.dropout = 0.75;
  Fixture<vision::Mlp> dropping(mlp);
  check(dropping, "hidden_0");

  vision::CnnConfig cnn;
  cnn.image_shape = {1, 1, 1};
  cnn.channels.clear();
  cnn.hidden_dims = 500;
  cnn.num_classes = 2;
  cnn.dropout = 0.75;
  Fixture<vision::Cnn> dropping_cnn(cnn);
  check(dropping_cnn, "hidden");
}

TEST_CASE("images of another shape are refused with both shapes and a hint") {
  Fixture<vision::Mlp> mlp(small_mlp());
  CHECK_THROWS_WITH(mlp.logits(random_values(24, 3), {1, 3, 4, 2}),
                    Contains("vision/Mlp: expected images [B, 4, 3, 2], got f32 [1, 3, 4, 2]") &&
                        Contains("set the model's image_shape to the shape of the input's images"));
  CHECK_THROWS_WITH(mlp.logits(random_values(24, 3), {1, 24}), Contains("got f32 [1, 24]"));
  for (const Shape& one_off : {Shape{1, 5, 3, 2}, Shape{1, 4, 4, 2}, Shape{1, 4, 3, 3}}) {
    CHECK_THROWS_WITH(mlp.logits(random_values(one_off.size(), 3), one_off),
                      Contains(one_off.to_string()));
  }
  Fixture<vision::Cnn> cnn(small_cnn());
  CHECK_THROWS_WITH(cnn.logits(random_values(28, 3), {1, 7, 4, 1}),
                    Contains("vision/Cnn: expected images [B, 7, 4, 2], got f32 [1, 7, 4, 1]"));
}

}  // namespace vision_models_test
