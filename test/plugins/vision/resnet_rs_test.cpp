// SPDX-License-Identifier: Apache-2.0
// ResNet-RS as fields of ResNet: parameter names and counts, and values against plain loops in
// double.
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "resnet_reference.h"
#include "support/layer_fixture.h"
#include "trivet/testing/layer_check.h"

namespace vision_resnet_rs_test {
namespace {

using trivet::Shape;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::random_values;
using trivet::test::stir_norms;
namespace vision = trivet::vision;
using namespace trivet::test::resnet;

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

}  // namespace

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
  stir_norms(fixture);
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
  stir_norms(fixture);
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

TEST_CASE("the gradients of a ResNet-RS match central differences", "[slow]") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  vision::ResNetConfig config = small_rs();
  config.image_shape = {12, 14, 1};
  config.blocks = {1, 1};
  config.norm_epsilon = 0.1;  // near 0 a norm's curvature outgrows the differences
  config.width = 2;
  config.stem_stride = 1;
  Fixture fixture(config, backend);
  stir_norms(fixture);
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

}  // namespace vision_resnet_rs_test
