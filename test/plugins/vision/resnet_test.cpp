// SPDX-License-Identifier: Apache-2.0
// ResNet: parameter names, parameter counts of the published networks, and values against plain
// loops in double.
#include "vision/resnet.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "model_fixture.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace vision_resnet_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::random_values;
namespace vision = trivet::vision;
using Fixture = trivet::test::ModelFixture<vision::ResNet>;

struct Images {
  std::size_t n, h, w, c;
  std::vector<double> values;

  double at(std::size_t i, std::size_t y, std::size_t x, std::size_t channel) const {
    return values[((i * h + y) * w + x) * c + channel];
  }
};

// The network in double, in training (moments of the batch), with the weights of a Fixture.
class Reference {
 public:
  explicit Reference(const Fixture& fixture) : fixture_(fixture) {}

  // kernel / 2 zeros on every side.
  Images convolution(const Images& in, const std::string& path, std::size_t stride) const {
    const Shape shape = fixture_.store.find(path + "/w")->shape();
    const std::vector<float> w = fixture_.values(path + "/w");
    const auto kernel = static_cast<std::size_t>(shape[0]),
               out = static_cast<std::size_t>(shape[3]);
    Images y{in.n, (in.h + stride - 1) / stride, (in.w + stride - 1) / stride, out, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::size_t tap = 0; tap < kernel * kernel; ++tap) {
          const std::size_t row = i / y.w % y.h * stride + tap / kernel,
                            column = i % y.w * stride + tap % kernel, pad = kernel / 2;
          if (row < pad || row - pad >= in.h || column < pad || column - pad >= in.w) continue;
          for (std::size_t c = 0; c < in.c; ++c) {
            sum += in.at(i / (y.h * y.w), row - pad, column - pad, c) *
                   static_cast<double>(w[(tap * in.c + c) * out + o]);
          }
        }
        y.values.push_back(sum);
      }
    }
    return y;
  }

  Images norm(Images x, const std::string& path) const {
    const std::vector<float> gamma = fixture_.values(path + "/gamma");
    const std::vector<float> beta = fixture_.values(path + "/beta");
    const auto rows = static_cast<double>(x.n * x.h * x.w);
    for (std::size_t c = 0; c < x.c; ++c) {
      double mean = 0, variance = 0;
      for (std::size_t i = c; i < x.values.size(); i += x.c) mean += x.values[i] / rows;
      for (std::size_t i = c; i < x.values.size(); i += x.c) {
        variance += std::pow(x.values[i] - mean, 2) / rows;
      }
      for (std::size_t i = c; i < x.values.size(); i += x.c) {
        x.values[i] =
            (x.values[i] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gamma[c]) +
            static_cast<double>(beta[c]);
      }
    }
    return x;
  }

  static Images relu(Images x) {
    for (double& value : x.values) value = std::max(value, 0.0);
    return x;
  }

  // `strides`: of the block's convolutions.
  Images block(const Images& x, const std::string& path,
               const std::vector<std::size_t>& strides) const {
    std::size_t stride = 1;
    Images y = x;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const std::string number = std::to_string(i);
      y = norm(convolution(y, path + "/conv_" + number, strides[i]), path + "/norm_" + number);
      if (i + 1 < strides.size()) y = relu(y);
      stride *= strides[i];
    }
    Images straight = x;
    if (fixture_.store.find(path + "/shortcut/w") != nullptr) {
      straight = norm(convolution(x, path + "/shortcut", stride), path + "/shortcut_norm");
    }
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += straight.values[i];
    return relu(y);
  }

  // 3 x 3, stride 2, one position outside on every side.
  static Images max_pool(const Images& x) {
    Images y{x.n, (x.h + 1) / 2, (x.w + 1) / 2, x.c, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w * y.c; ++i) {
      double most = -1e30;
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t row = i / (y.c * y.w) % y.h * 2 + tap / 3,
                          column = i / y.c % y.w * 2 + tap % 3;
        if (row < 1 || row > x.h || column < 1 || column > x.w) continue;
        most = std::max(most, x.at(i / (y.c * y.w * y.h), row - 1, column - 1, i % y.c));
      }
      y.values.push_back(most);
    }
    return y;
  }

  // The mean of all pixels, then the classifier.
  std::vector<double> logits(const Images& x) const {
    const std::vector<float> w = fixture_.values("output/w"), b = fixture_.values("output/b");
    std::vector<double> y;
    for (std::size_t i = 0; i < x.n; ++i) {
      for (std::size_t o = 0; o < b.size(); ++o) {
        auto sum = static_cast<double>(b[o]);
        for (std::size_t p = 0; p < x.h * x.w * x.c; ++p) {
          sum += x.values[i * x.h * x.w * x.c + p] / static_cast<double>(x.h * x.w) *
                 static_cast<double>(w[p % x.c * b.size() + o]);
        }
        y.push_back(sum);
      }
    }
    return y;
  }

 private:
  const Fixture& fixture_;
};

vision::ResNetConfig small(vision::ResNetBlock block) {
  vision::ResNetConfig config;
  config.image_shape = {7, 6, 2};
  config.num_classes = 3;
  config.block = block;
  config.blocks = {1, 2};
  config.width = 3;
  return config;
}

// Sets random norms.
void stir(Fixture& fixture) {
  std::uint64_t seed = 50;
  for (const auto& parameter : fixture.store.parameters()) {
    if (parameter->path().find("norm") == std::string::npos || !parameter->trainable()) continue;
    std::vector<float> values = random_values(parameter->shape().size(), ++seed, 0.3);
    for (float& value : values) value += parameter->path().ends_with("gamma") ? 1 : 0;
    parameter->assign(
        Tensor::from(*fixture.device, std::span<const float>(values), parameter->shape()));
  }
}

Images images_of(const std::vector<float>& pixels, std::size_t n, const vision::ResNetConfig& c) {
  return {n,
          static_cast<std::size_t>(c.image_shape[0]),
          static_cast<std::size_t>(c.image_shape[1]),
          static_cast<std::size_t>(c.image_shape[2]),
          {pixels.begin(), pixels.end()}};
}

// Half a dozen norms in f32 in sequence.
constexpr double kTolerance = 1e-4;

std::int64_t parameters_of(std::int64_t depth) {
  vision::ResNetConfig config;
  config.image_shape = {224, 224, 3};
  config.num_classes = 1000;
  config.depth = depth;
  config.stem_kernel = 7;
  config.stem_stride = 2;
  config.stem_pool = true;
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::test::use_plugin("nn");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  const vision::ResNet model(config, scope);
  return store.trainable_count();  // not built: nothing is allocated
}

}  // namespace

TEST_CASE("a ResNet's parameters are called after stage, block and layer") {
  const auto shapes = Fixture(small(vision::ResNetBlock::basic)).shapes();
  CHECK(shapes.at("stem/w") == "[3, 3, 2, 3]");
  CHECK(shapes.at("stem_norm/gamma") == "[3]");
  CHECK(shapes.at("stage_0/block_0/conv_0/w") == "[3, 3, 3, 3]");
  CHECK(shapes.at("stage_0/block_0/norm_1/moving_mean") == "[3]");
  CHECK(shapes.count("stage_0/block_0/shortcut/w") == 0);
  CHECK(shapes.at("stage_1/block_0/conv_0/w") == "[3, 3, 3, 6]");
  CHECK(shapes.at("stage_1/block_0/shortcut/w") == "[1, 1, 3, 6]");
  CHECK(shapes.at("stage_1/block_0/shortcut_norm/beta") == "[6]");
  CHECK(shapes.count("stage_1/block_1/shortcut/w") == 0);
  CHECK(shapes.at("output/w") == "[6, 3]");
  CHECK(shapes.at("output/b") == "[3]");
  // Stem, three blocks of two, one shortcut: a filter and four of its norm each; the classifier.
  CHECK(shapes.size() == 5 * 8 + 2);

  const auto narrow = Fixture(small(vision::ResNetBlock::bottleneck)).shapes();
  CHECK(narrow.at("stage_0/block_0/conv_0/w") == "[1, 1, 3, 3]");
  CHECK(narrow.at("stage_0/block_0/conv_1/w") == "[3, 3, 3, 3]");
  CHECK(narrow.at("stage_0/block_0/conv_2/w") == "[1, 1, 3, 12]");
  CHECK(narrow.at("stage_0/block_0/shortcut/w") == "[1, 1, 3, 12]");
  CHECK(narrow.at("stage_1/block_0/conv_0/w") == "[1, 1, 12, 6]");
  CHECK(narrow.at("output/w") == "[24, 3]");
}

TEST_CASE("the networks of the paper's table have as many parameters as published") {
  // As torchvision's resnet18 to resnet152 (their tests and model cards).
  CHECK(parameters_of(18) == 11'689'512);
  CHECK(parameters_of(34) == 21'797'672);
  CHECK(parameters_of(50) == 25'557'032);
  CHECK(parameters_of(101) == 44'549'160);
  CHECK(parameters_of(152) == 60'192'808);
}

TEST_CASE("a ResNet of basic blocks computes their formula") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const vision::ResNetConfig config = small(vision::ResNetBlock::basic);
  Fixture fixture(config, backend);
  stir(fixture);
  const std::vector<float> pixels = random_values(3 * 7 * 6 * 2, 3);
  const Reference net(fixture);
  Images x = images_of(pixels, 3, config);
  x = Reference::relu(net.norm(net.convolution(x, "stem", 1), "stem_norm"));
  x = net.block(x, "stage_0/block_0", {1, 1});
  x = net.block(x, "stage_1/block_0", {2, 1});
  x = net.block(x, "stage_1/block_1", {1, 1});
  const Tensor logits = fixture.logits(pixels, {3, 7, 6, 2}, true);
  CHECK(logits.shape() == Shape{3, 3});
  CHECK(largest_error(logits.to_host<float>(), net.logits(x)) < kTolerance);
}

TEST_CASE("a ResNet of bottlenecks with the stem of large images computes their formula") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  vision::ResNetConfig config = small(vision::ResNetBlock::bottleneck);
  config.image_shape = {17, 20, 1};
  config.stem_kernel = 7;
  config.stem_stride = 2;
  config.stem_pool = true;
  Fixture fixture(config, backend);
  stir(fixture);
  const std::vector<float> pixels = random_values(2 * 17 * 20, 3);
  const Reference net(fixture);
  Images x = images_of(pixels, 2, config);
  x = Reference::relu(net.norm(net.convolution(x, "stem", 2), "stem_norm"));
  x = Reference::max_pool(x);
  x = net.block(x, "stage_0/block_0", {1, 1, 1});
  x = net.block(x, "stage_1/block_0", {1, 2, 1});
  x = net.block(x, "stage_1/block_1", {1, 1, 1});
  const Tensor logits = fixture.logits(pixels, {2, 17, 20, 1}, true);
  CHECK(largest_error(logits.to_host<float>(), net.logits(x)) < kTolerance);
}

TEST_CASE("with zero_init_residual every block starts as its shortcut") {
  vision::ResNetConfig config = small(vision::ResNetBlock::basic);
  config.zero_init_residual = true;
  Fixture fixture(config);
  for (const char* block : {"stage_0/block_0", "stage_1/block_0", "stage_1/block_1"}) {
    const std::string path = block;
    for (const float gamma : fixture.values(path + "/norm_1/gamma")) CHECK(gamma == 0);
    for (const float gamma : fixture.values(path + "/norm_0/gamma")) CHECK(gamma == 1);
  }
  const std::vector<float> pixels = random_values(3 * 84, 3);
  const auto before = fixture.logits(pixels, {3, 7, 6, 2}, true).to_host<float>();
  auto* filters = fixture.store.find("stage_1/block_1/conv_0/w");
  filters->assign(Tensor::full(*fixture.device, filters->shape(), 0.5));
  CHECK(fixture.logits(pixels, {3, 7, 6, 2}, true).to_host<float>() == before);
}

TEST_CASE("a ResNet's filters start as he_normal unless init is set") {
  vision::ResNetConfig config = small(vision::ResNetBlock::basic);
  config.width = 32;
  Fixture fixture(config);
  double squares = 0;
  const std::vector<float> w = fixture.values("stage_0/block_0/conv_0/w");
  for (const float value : w) squares += static_cast<double>(value) * static_cast<double>(value);
  // sqrt(2 / (9 * 32)); 9,216 numbers give it within 0.74 % a standard deviation.
  CHECK(std::sqrt(squares / static_cast<double>(w.size())) ==
        Approx(std::sqrt(2.0 / 288)).epsilon(0.03));
  config.init = {trivet::Init::constant, 0.25};
  Fixture constant(config);
  for (const char* path : {"stem/w", "stage_1/block_0/shortcut/w", "output/w"}) {
    for (const float value : constant.values(path)) CHECK(value == 0.25F);
  }
}

TEST_CASE("a ResNet's dropout acts on the classifier's inputs, in training only") {
  vision::ResNetConfig config = small(vision::ResNetBlock::basic);
  Fixture plain(config);
  config.dropout = 0.5;
  Fixture dropping(config);
  const std::vector<float> pixels = random_values(84, 3);
  const auto want = plain.logits(pixels, {1, 7, 6, 2}).to_host<float>();
  CHECK(dropping.logits(pixels, {1, 7, 6, 2}).to_host<float>() == want);
  Fixture training(vision::ResNetConfig{config});
  plain.logits(pixels, {1, 7, 6, 2}, true);
  CHECK(training.logits(pixels, {1, 7, 6, 2}, true).to_host<float>() !=
        Fixture(small(vision::ResNetBlock::basic))
            .logits(pixels, {1, 7, 6, 2}, true)
            .to_host<float>());
}

TEST_CASE("a ResNet refuses images of another shape") {
  Fixture fixture(small(vision::ResNetBlock::basic));
  CHECK_THROWS_WITH(fixture.logits(random_values(84, 3), {1, 6, 7, 2}),
                    Contains("vision/ResNet: expected images [B, 7, 6, 2]"));
}

}  // namespace vision_resnet_test
