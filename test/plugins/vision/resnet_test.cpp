// SPDX-License-Identifier: Apache-2.0
// ResNet: parameter names, parameter counts of the published networks, and values against plain
// loops in double.
#include "vision/resnet.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "resnet_reference.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace vision_resnet_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::random_values;
using trivet::test::stir_norms;
namespace vision = trivet::vision;
using namespace trivet::test::resnet;

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
  stir_norms(fixture);
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
  stir_norms(fixture);
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
