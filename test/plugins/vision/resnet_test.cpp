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
#include "trivet/testing/layer_check.h"

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

  // ResNet-RS has it in place of relu.
  static Images swish(Images x) {
    for (double& value : x.values) value /= 1 + std::exp(-value);
    return x;
  }

  // The means of 2 x 2 pixels, of fewer at the right and lower edge.
  static Images halved(const Images& x) {
    Images y{x.n, (x.h + 1) / 2, (x.w + 1) / 2, x.c, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w * y.c; ++i) {
      double sum = 0, count = 0;
      for (const std::size_t tap : {0, 1, 2, 3}) {
        const std::size_t row = i / (y.c * y.w) % y.h * 2 + tap / 2,
                          column = i / y.c % y.w * 2 + tap % 2;
        if (row >= x.h || column >= x.w) continue;
        sum += x.at(i / (y.c * y.w * y.h), row, column, i % y.c);
        count += 1;
      }
      y.values.push_back(sum / count);
    }
    return y;
  }

  // Each channel times the sigmoid of two products of the channels' means.
  Images gated(Images x, const std::string& path) const {
    const std::vector<float> w1 = fixture_.values(path + "/reduce/w"),
                             b1 = fixture_.values(path + "/reduce/b"),
                             w2 = fixture_.values(path + "/expand/w"),
                             b2 = fixture_.values(path + "/expand/b");
    const std::size_t pixels = x.h * x.w;
    for (std::size_t i = 0; i < x.n; ++i) {
      std::vector<double> inside(b1.begin(), b1.end());
      for (std::size_t p = 0; p < pixels * x.c; ++p) {
        for (std::size_t r = 0; r < b1.size(); ++r) {
          inside[r] += x.values[i * pixels * x.c + p] / static_cast<double>(pixels) *
                       static_cast<double>(w1[p % x.c * b1.size() + r]);
        }
      }
      for (std::size_t c = 0; c < x.c; ++c) {
        auto gate = static_cast<double>(b2[c]);
        for (std::size_t r = 0; r < b1.size(); ++r) {
          gate += std::max(inside[r], 0.0) * static_cast<double>(w2[r * x.c + c]);
        }
        for (std::size_t p = 0; p < pixels; ++p) {
          x.values[(i * pixels + p) * x.c + c] /= 1 + std::exp(-gate);
        }
      }
    }
    return x;
  }

  // A bottleneck of ResNet-RS, whose residuals are multiplied by `kept`, one number an image.
  Images rs_block(const Images& x, const std::string& path, std::size_t stride,
                  const std::vector<double>& kept) const {
    Images y = swish(norm(convolution(x, path + "/conv_0", 1), path + "/norm_0"));
    y = swish(norm(convolution(y, path + "/conv_1", stride), path + "/norm_1"));
    y = norm(convolution(y, path + "/conv_2", 1), path + "/norm_2");
    y = gated(y, path + "/squeeze_excitation");
    Images straight = stride == 2 ? halved(x) : x;
    if (fixture_.store.find(path + "/shortcut/w") != nullptr) {
      straight = norm(convolution(straight, path + "/shortcut", 1), path + "/shortcut_norm");
    }
    const std::size_t each = y.values.size() / y.n;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = y.values[i] * kept[i / each] + straight.values[i];
    }
    return swish(y);
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

// All fields of ResNet-RS at a tiny size.
vision::ResNetConfig small_rs() {
  vision::ResNetConfig config = small(vision::ResNetBlock::bottleneck);
  config.image_shape = {18, 22, 2};
  config.width = 4;
  config.stem_type = vision::StemType::v1;
  config.stem_stride = 2;
  config.stem_pool = true;
  config.replace_stem_max_pool = true;
  config.resnetd_shortcut = true;
  config.se_ratio = 0.25;
  config.activation = "nn/Silu";
  return config;
}

// The model as a layer whose output is the logits.
class Logits final : public trivet::Layer {
 public:
  explicit Logits(vision::ResNet& model) : model_(model) {}
  Tensor fprop(const Tensor& x, trivet::FpropContext& context) override {
    return model_.fprop({{"image", x}}, context).at("logits");
  }

 private:
  vision::ResNet& model_;
};

Images images_of(const std::vector<float>& pixels, std::size_t n, const vision::ResNetConfig& c) {
  return {n,
          static_cast<std::size_t>(c.image_shape[0]),
          static_cast<std::size_t>(c.image_shape[1]),
          static_cast<std::size_t>(c.image_shape[2]),
          {pixels.begin(), pixels.end()}};
}

// Half a dozen norms in f32 in sequence.
constexpr double kTolerance = 1e-4;

std::int64_t parameters_of(std::int64_t depth, vision::ResNetConfig config = {}) {
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

TEST_CASE("a ResNet-RS's parameters are called after their parts") {
  const auto shapes = Fixture(small_rs()).shapes();
  CHECK(shapes.at("stem_0/w") == "[3, 3, 2, 2]");  // width / 2
  CHECK(shapes.at("stem_1/w") == "[3, 3, 2, 2]");
  CHECK(shapes.at("stem_2/w") == "[3, 3, 2, 4]");
  CHECK(shapes.at("stem_norm_2/gamma") == "[4]");
  CHECK(shapes.at("stem_pool/w") == "[3, 3, 4, 4]");
  CHECK(shapes.at("stem_pool_norm/gamma") == "[4]");
  CHECK(shapes.at("stage_0/block_0/squeeze_excitation/reduce/w") == "[16, 4]");
  CHECK(shapes.at("stage_1/block_1/squeeze_excitation/expand/w") == "[8, 32]");
  CHECK(shapes.at("stage_1/block_0/shortcut/w") == "[1, 1, 16, 32]");
  // Four convolutions of the stem, three blocks of three, two shortcuts, each with its norm; three
  // pairs of gates; the classifier.
  CHECK(shapes.size() == 5 * (4 + 9 + 2) + 3 * 4 + 2);
  vision::ResNetConfig fixed = small_rs();
  fixed.scale_stem = false;
  const auto wide = Fixture(fixed).shapes();
  CHECK(wide.at("stem_0/w") == "[3, 3, 2, 32]");
  CHECK(wide.at("stem_2/w") == "[3, 3, 32, 64]");
  CHECK(wide.at("stem_pool/w") == "[3, 3, 64, 4]");
  CHECK(wide.at("stage_0/block_0/conv_0/w") == "[1, 1, 4, 4]");
  fixed.replace_stem_max_pool = false;
  CHECK(Fixture(fixed).shapes().at("stage_0/block_0/conv_0/w") == "[1, 1, 64, 4]");
}

TEST_CASE("a ResNet-RS computes its formula") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const vision::ResNetConfig config = small_rs();
  Fixture fixture(config, backend);
  stir(fixture);
  const std::vector<float> pixels = random_values(3 * 18 * 22 * 2, 3);
  const Reference net(fixture);
  Images x = images_of(pixels, 3, config);
  for (const std::string i : {"0", "1", "2"}) {
    x = Reference::swish(net.norm(net.convolution(x, "stem_" + i, i == "0" ? 2 : 1),  //
                                  "stem_norm_" + i));
  }
  x = Reference::swish(net.norm(net.convolution(x, "stem_pool", 2), "stem_pool_norm"));
  CHECK(x.h * x.w == 5 * 6);  // an odd height, so windows at its edge have fewer pixels
  const std::vector<double> all(3, 1.0);
  x = net.rs_block(x, "stage_0/block_0", 1, all);
  x = net.rs_block(x, "stage_1/block_0", 2, all);
  x = net.rs_block(x, "stage_1/block_1", 1, all);
  const Tensor logits = fixture.logits(pixels, {3, 18, 22, 2}, true);
  CHECK(largest_error(logits.to_host<float>(), net.logits(x)) < kTolerance);
}

TEST_CASE("a ResNet-RS drops residuals of whole images, more in later stages") {
  vision::ResNetConfig config = small_rs();
  config.blocks = {1, 1};
  config.stochastic_depth_drop_rate = 0.6;  // 0.4 in stage 0 of 2, 0.6 in stage 1
  Fixture fixture(config);
  stir(fixture);
  const std::vector<float> pixels = random_values(3 * 18 * 22 * 2, 3);
  const Reference net(fixture);
  Images stem = images_of(pixels, 3, config);
  for (const std::string i : {"0", "1", "2"}) {
    stem = Reference::swish(net.norm(net.convolution(stem, "stem_" + i, i == "0" ? 2 : 1),  //
                                     "stem_norm_" + i));
  }
  stem = Reference::swish(net.norm(net.convolution(stem, "stem_pool", 2), "stem_pool_norm"));
  const std::vector<float> got = fixture.logits(pixels, {3, 18, 22, 2}, true).to_host<float>();
  // One of the 2^6 choices of what is dropped is the one that was drawn.
  double best = 1e9;
  for (unsigned choice = 0; choice < 64; ++choice) {
    const auto kept = [&](unsigned block, double rate) {
      std::vector<double> factors;
      for (unsigned image = 0; image < 3; ++image) {
        factors.push_back((choice >> (3 * block + image) & 1U) == 0 ? 0 : 1 / (1 - rate));
      }
      return factors;
    };
    Images x = net.rs_block(stem, "stage_0/block_0", 1, kept(0, 0.4));
    x = net.rs_block(x, "stage_1/block_0", 2, kept(1, 0.6));
    best = std::min(best, largest_error(got, net.logits(x)));
  }
  CHECK(best < kTolerance);
  Fixture evaluated(config);
  config.stochastic_depth_drop_rate = 0;
  Fixture whole(config);
  CHECK(evaluated.logits(pixels, {3, 18, 22, 2}).to_host<float>() ==
        whole.logits(pixels, {3, 18, 22, 2}).to_host<float>());
}

TEST_CASE("the gradients of a ResNet-RS match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  vision::ResNetConfig config = small_rs();
  config.image_shape = {12, 14, 1};
  config.blocks = {1, 1};
  config.norm_epsilon = 0.1;  // near 0 a norm's curvature outgrows the differences
  config.width = 2;
  config.stem_stride = 1;
  Fixture fixture(config, backend);
  stir(fixture);
  Logits layer(*fixture.model);
  const Tensor x =
      Tensor::from(*fixture.device, std::span<const float>(random_values(std::int64_t{3} * 168, 3)),
                   {3, 12, 14, 1});
  CHECK(trivet::testing::check_layer_gradients(layer, fixture.store, x, {.train = true}) == "");
}

TEST_CASE("ResNet-RS-50 has as many parameters as its table says") {
  vision::ResNetConfig config;
  config.stem_type = vision::StemType::v1;
  config.replace_stem_max_pool = true;
  config.resnetd_shortcut = true;
  config.se_ratio = 0.25;
  std::int64_t want = 0;
  const auto convolution = [&](std::int64_t kernel, std::int64_t in, std::int64_t out) {
    want += kernel * kernel * in * out + 2 * out;  // and its norm
  };
  convolution(3, 3, 32);
  convolution(3, 32, 32);
  convolution(3, 32, 64);
  convolution(3, 64, 64);
  std::int64_t dims = 64;
  for (const auto& [width, blocks] :
       std::map<std::int64_t, int>{{64, 3}, {128, 4}, {256, 6}, {512, 3}}) {
    convolution(1, dims, 4 * width);
    for (int i = 0; i < blocks; ++i) {
      convolution(1, dims, width);
      convolution(3, width, width);
      convolution(1, width, 4 * width);
      want += 2 * 4 * width * width + width + 4 * width;  // the gates, with biases
      dims = 4 * width;
    }
  }
  want += dims * 1000 + 1000;
  CHECK(want == 35'691'912);
  CHECK(parameters_of(50, config) == want);
}

TEST_CASE("the deeper networks have the blocks of Model Garden's table") {
  const auto bottlenecks = [](const std::vector<std::int64_t>& blocks) {
    vision::ResNetConfig config;
    config.block = vision::ResNetBlock::bottleneck;
    config.blocks = blocks;
    return parameters_of(0, config);
  };
  CHECK(parameters_of(200) == bottlenecks({3, 24, 36, 3}));
  CHECK(parameters_of(270) == bottlenecks({4, 29, 53, 4}));
  CHECK(parameters_of(350) == bottlenecks({4, 36, 72, 4}));
  CHECK(parameters_of(420) == bottlenecks({4, 44, 87, 4}));
  vision::ResNetConfig ten;
  ten.blocks = {1, 1, 1, 1};
  CHECK(parameters_of(10) == parameters_of(0, ten));
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
