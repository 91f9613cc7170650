// SPDX-License-Identifier: Apache-2.0
// MobileNet: names, the published number of parameters, and values against plain loops in double.
#include "vision/mobilenet.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "image_reference.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace vision_mobilenet_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::Pixels;
using trivet::test::random_values;
namespace vision = trivet::vision;
using Fixture = trivet::test::ModelFixture<vision::MobileNet>;
using Reference = trivet::test::ImageReference<vision::MobileNet>;

// A dozen norms in f32 in sequence.
constexpr double kTolerance = 1e-4;

vision::MobileNetConfig small() {
  vision::MobileNetConfig config;
  config.image_shape = {7, 6, 2};
  config.num_classes = 3;
  config.expansions = {1, 2, 3};
  config.strides = {1, 2, 1};
  config.channels = {4, 6, 6};
  config.output_channels = 10;
  config.divisible_by = 2;
  config.multiplier = 0.25;
  config.min_depth = 4;
  return config;
}

Pixels relu6(Pixels x) {
  for (double& value : x.values) value = std::clamp(value, 0.0, 6.0);
  return x;
}

std::int64_t parameters_of(double multiplier) {
  vision::MobileNetConfig config;
  config.image_shape = {224, 224, 3};
  config.num_classes = 1000;
  config.multiplier = multiplier;
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::test::use_plugin("nn");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  const vision::MobileNet model(config, scope);
  return store.trainable_count();  // not built: nothing is allocated
}

}  // namespace

TEST_CASE("a MobileNet's parameters are called after block and layer") {
  const auto shapes = Fixture(small()).shapes();
  CHECK(shapes.at("stem/w") == "[3, 3, 2, 8]");  // 32 / 4
  CHECK(shapes.count("block_0/expand/w") == 0);
  CHECK(shapes.at("block_0/depthwise/w") == "[3, 3, 1, 8]");
  CHECK(shapes.at("block_0/project/w") == "[1, 1, 8, 2]");  // 4 / 4, at least 2
  CHECK(shapes.at("block_1/expand/w") == "[1, 1, 2, 4]");
  CHECK(shapes.at("block_1/depthwise_norm/gamma") == "[4]");
  CHECK(shapes.at("block_2/expand/w") == "[1, 1, 2, 6]");
  CHECK(shapes.at("head/w") == "[1, 1, 2, 10]");  // not multiplied by less than 1
  CHECK(shapes.at("output/w") == "[10, 3]");
  CHECK(shapes.size() == (2 + 2 + 3 + 3) * 5 + 2);
}

TEST_CASE("a MobileNet has as many parameters as published") {
  // torchvision's mobilenet_v2, and timm's mobilenetv2_140.
  CHECK(parameters_of(1) == 3'504'872);
  CHECK(parameters_of(1.4) == 6'108'776);
}

TEST_CASE("a MobileNet computes its formula") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Fixture fixture(small(), backend);
  std::uint64_t seed = 50;
  for (const auto& parameter : fixture.store.parameters()) {
    if (parameter->path().find("norm") == std::string::npos || !parameter->trainable()) continue;
    std::vector<float> values = random_values(parameter->shape().size(), ++seed, 0.3);
    for (float& value : values) value += parameter->path().ends_with("gamma") ? 3 : 0;
    parameter->assign(
        Tensor::from(*fixture.device, std::span<const float>(values), parameter->shape()));
  }
  const Reference net(fixture);
  const auto step = [&](const Pixels& x, const std::string& path, std::size_t stride) {
    return net.norm(net.convolution(x, path, stride), path + "_norm", 1e-3);
  };
  const std::vector<float> pixels = random_values(3 * 7 * 6 * 2, 3);
  Pixels x{3, 7, 6, 2, {pixels.begin(), pixels.end()}};
  x = relu6(step(x, "stem", 2));
  x = step(relu6(step(x, "block_0/depthwise", 1)), "block_0/project", 1);
  for (const auto& [name, stride] : {std::pair{"block_1", 2}, std::pair{"block_2", 1}}) {
    const std::string path = name;
    Pixels y = relu6(step(x, path + "/expand", 1));
    y = step(relu6(step(y, path + "/depthwise", static_cast<std::size_t>(stride))),
             path + "/project", 1);
    for (std::size_t i = 0; i < y.values.size() && stride == 1; ++i) y.values[i] += x.values[i];
    x = y;
  }
  x = relu6(step(x, "head", 1));
  const Tensor logits = fixture.logits(pixels, {3, 7, 6, 2}, true);
  CHECK(logits.shape() == Shape{3, 3});
  CHECK(largest_error(logits.to_host<float>(), net.logits(x)) < kTolerance);
}

TEST_CASE("a MobileNet's dropout acts in training only") {
  vision::MobileNetConfig config = small();
  Fixture plain(config);
  config.dropout = 0.5;
  Fixture dropping(config);
  const std::vector<float> pixels = random_values(84, 3);
  CHECK(dropping.logits(pixels, {1, 7, 6, 2}).to_host<float>() ==
        plain.logits(pixels, {1, 7, 6, 2}).to_host<float>());
  CHECK(dropping.logits(pixels, {1, 7, 6, 2}, true).to_host<float>() !=
        plain.logits(pixels, {1, 7, 6, 2}, true).to_host<float>());
}

TEST_CASE("a MobileNet's filters start by their fan-out unless init is set") {
  vision::MobileNetConfig config = small();
  config.multiplier = 4;
  Fixture fixture(config);
  double squares = 0;
  const std::vector<float> w = fixture.values("stem/w");  // [3, 3, 2, 128]
  for (const float value : w) squares += static_cast<double>(value) * static_cast<double>(value);
  // 2,304 numbers give the deviation within 1.5 % a standard deviation.
  CHECK(std::sqrt(squares / static_cast<double>(w.size())) ==
        Approx(std::sqrt(2.0 / (9 * 128))).epsilon(0.06));
  config.init = {trivet::Init::constant, 0.25};
  Fixture constant(config);
  for (const char* path : {"stem/w", "block_1/depthwise/w", "output/w"}) {
    for (const float value : constant.values(path)) CHECK(value == 0.25F);
  }
}

TEST_CASE("a MobileNet reports bad configs and images") {
  vision::MobileNetConfig config = small();
  Fixture fixture(config);
  CHECK_THROWS_WITH(fixture.logits(random_values(84, 3), {1, 6, 7, 2}),
                    Contains("vision/MobileNet: expected images [B, 7, 6, 2]"));
  const auto problems = [](const vision::MobileNetConfig& bad) {
    trivet::Diagnostics found;
    bad.validate(found);
    std::string texts;
    for (const trivet::Diagnostic& problem : found.list()) {
      texts += problem.path + ": " + problem.what + "\n";
    }
    return texts;
  };
  CHECK(problems(config).empty());
  config.strides = {1, 2};
  config.stem_kernel = 4;
  CHECK(problems(config) ==
        "strides: has 2 numbers, and channels has 3\n"
        "stem_kernel: is even, so it has no center pixel\n");
  config = small();
  config.expansions = config.strides = config.channels = {};
  CHECK(problems(config) == "channels: is empty\n");
}

}  // namespace vision_mobilenet_test
