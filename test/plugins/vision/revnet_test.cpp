// SPDX-License-Identifier: Apache-2.0
// RevNet: parameter names, parameter counts by hand, and values against plain loops in double.
#include "vision/revnet.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "image_reference.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/testing/layer_check.h"

namespace vision_revnet_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::Pixels;
using trivet::test::random_values;
using trivet::test::stir_norms;
namespace vision = trivet::vision;
using Fixture = trivet::test::ModelFixture<vision::RevNet>;

// Some norms in f32 in sequence.
constexpr double kTolerance = 1e-4, kEpsilon = 1e-3;

vision::RevNetConfig small(vision::ResNetBlock block) {
  vision::RevNetConfig config;
  config.image_shape = {9, 10, 2};
  config.num_classes = 3;
  config.block = block;
  config.blocks = {1, 2};
  config.channels = {4, 10};
  config.norm_epsilon = kEpsilon;
  return config;
}

// The network in double, in training.
class Reference : public trivet::test::ImageReference<vision::RevNet> {
 public:
  explicit Reference(const Fixture& fixture) : ImageReference(fixture), fixture_(fixture) {}

  Pixels activated(const Pixels& x, const std::string& path) const {
    Pixels y = norm(x, path, kEpsilon);
    for (double& value : y.values) value = std::max(value, 0.0);
    return y;
  }

  // f or g.
  Pixels branch(Pixels x, const std::string& path, std::size_t stride) const {
    for (int i = 0; i < 3; ++i) {
      const std::string norm = path + "/norm_" + std::to_string(i),
                        filters = path + "/conv_" + std::to_string(i + 1);
      if (fixture_.store.find(norm + "/gamma") != nullptr) x = activated(x, norm);
      if (fixture_.store.find(filters + "/w") == nullptr) continue;
      x = convolution(x, filters, i == 0 ? stride : 1);
    }
    return x;
  }

  Pixels block(const Pixels& x, const std::string& path, std::size_t stride) const {
    const Pixels x1 = half(x, 0), x2 = half(x, 1);
    const Pixels y1 = sum(branch(x2, path + "/f", stride), x1, stride);
    const Pixels y2 = sum(branch(y1, path + "/g", 1), x2, stride);
    Pixels y{y1.n, y1.h, y1.w, 2 * y1.c, {}};
    for (std::size_t i = 0; i < y1.values.size(); i += y1.c) {
      for (const Pixels* part : {&y1, &y2}) {
        const auto begin = part->values.begin() + static_cast<std::ptrdiff_t>(i);
        y.values.insert(y.values.end(), begin, begin + static_cast<std::ptrdiff_t>(y1.c));
      }
    }
    return y;
  }

 private:
  static Pixels half(const Pixels& x, std::size_t which) {
    Pixels y{x.n, x.h, x.w, x.c / 2, {}};
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      if (i % x.c / y.c == which) y.values.push_back(x.values[i]);
    }
    return y;
  }

  // y plus the means of x, whose channels are in the middle of those of y.
  static Pixels sum(Pixels y, const Pixels& x, std::size_t stride) {
    const std::size_t before = (y.c - x.c) / 2;
    for (std::size_t i = 0; i < y.n * y.h * y.w; ++i) {
      for (std::size_t c = 0; c < x.c; ++c) {
        double total = 0, count = 0;
        for (std::size_t tap = 0; tap < stride * stride; ++tap) {
          const std::size_t row = i / y.w % y.h * stride + tap / stride,
                            column = i % y.w * stride + tap % stride;
          if (row >= x.h || column >= x.w) continue;
          total += x.values[((i / (y.h * y.w) * x.h + row) * x.w + column) * x.c + c];
          count += 1;
        }
        y.values[i * y.c + before + c] += total / count;
      }
    }
    return y;
  }

  const Fixture& fixture_;
};

// The model as a layer whose output is the logits.
class Logits final : public trivet::Layer {
 public:
  explicit Logits(vision::RevNet& model) : model_(model) {}
  Tensor fprop(const Tensor& x, trivet::FpropContext& context) override {
    return model_.fprop({{"image", x}}, context).at("logits");
  }

 private:
  vision::RevNet& model_;
};

std::int64_t parameters_of(std::int64_t depth) {
  vision::RevNetConfig config;
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
  const vision::RevNet model(config, scope);
  return store.trainable_count();  // not built: nothing is allocated
}

std::string problems(const vision::RevNetConfig& config) {
  trivet::Diagnostics found;
  config.validate(found);
  std::string texts;
  for (const trivet::Diagnostic& problem : found.list()) {
    texts += problem.path + ": " + problem.what + "\n";
  }
  return texts;
}

}  // namespace

TEST_CASE("a RevNet's parameters are called after stage, block, branch and layer") {
  const auto shapes = Fixture(small(vision::ResNetBlock::basic)).shapes();
  CHECK(shapes.at("stem/w") == "[3, 3, 2, 4]");
  CHECK(shapes.count("stage_0/block_0/f/norm_0/gamma") == 0);
  CHECK(shapes.at("stage_0/block_0/f/conv_1/w") == "[3, 3, 2, 2]");
  CHECK(shapes.at("stage_0/block_0/g/norm_1/gamma") == "[2]");
  CHECK(shapes.at("stage_1/block_0/f/norm_0/gamma") == "[2]");
  CHECK(shapes.at("stage_1/block_0/f/conv_1/w") == "[3, 3, 2, 5]");
  CHECK(shapes.at("stage_1/block_0/g/norm_0/beta") == "[5]");
  CHECK(shapes.at("stage_1/block_0/g/conv_2/w") == "[3, 3, 5, 5]");
  CHECK(shapes.count("stage_1/block_1/f/norm_0/gamma") == 0);
  CHECK(shapes.at("head_norm/gamma") == "[10]");
  CHECK(shapes.at("output/w") == "[10, 3]");
  // Stem; three blocks of two branches of two filters and one norm; two more norms; the head.
  CHECK(shapes.size() == 5 + 3 * 2 * (2 + 4) + 2 * 4 + 4 + 2);

  const auto narrow = Fixture(small(vision::ResNetBlock::bottleneck)).shapes();
  CHECK(narrow.at("stage_0/block_0/f/conv_1/w") == "[1, 1, 2, 2]");
  CHECK(narrow.at("stage_0/block_0/f/conv_3/w") == "[1, 1, 2, 8]");
  CHECK(narrow.at("stage_0/block_0/g/conv_1/w") == "[1, 1, 8, 2]");
  CHECK(narrow.at("stage_1/block_0/f/norm_0/gamma") == "[8]");
  CHECK(narrow.at("output/w") == "[40, 3]");
}

TEST_CASE("the RevNets of the table have as many parameters as a sum by hand") {
  struct Stage {
    std::int64_t channels, blocks;
  };
  const auto by_hand = [](const std::vector<Stage>& stages, std::int64_t wider) {
    std::int64_t dims = stages[0].channels, total = 49 * 3 * dims + 2 * dims;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::int64_t h = stages[s].channels / 2, out = wider * h;
      for (std::int64_t i = 0; i < stages[s].blocks; ++i) {
        for (const std::int64_t in : {dims / 2, out}) {  // f, g
          if (s > 0 && i == 0) total += 2 * in;
          total += wider == 4 ? in * h + 2 * h + 9 * h * h + 2 * h + h * out
                              : 9 * in * h + 2 * h + 9 * h * h;
        }
        dims = 2 * out;
      }
    }
    return total + 2 * dims + dims * 1000 + 1000;
  };
  const std::int64_t small = by_hand({{32, 3}, {64, 3}, {112, 3}}, 1);
  CHECK(small == 579'736);
  CHECK(parameters_of(38) == small);
  const std::int64_t middle = by_hand({{128, 2}, {256, 2}, {512, 3}, {832, 2}}, 4);
  CHECK(middle == 22'783'336);
  CHECK(parameters_of(56) == middle);
  const std::int64_t large = by_hand({{128, 2}, {256, 2}, {512, 11}, {832, 2}}, 4);
  CHECK(large == 40'625'512);
  CHECK(parameters_of(104) == large);
}

TEST_CASE("a RevNet computes its formula") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto block = GENERATE(vision::ResNetBlock::basic, vision::ResNetBlock::bottleneck);
  const vision::RevNetConfig config = small(block);
  Fixture fixture(config, backend);
  stir_norms(fixture);
  const std::vector<float> pixels = random_values(std::int64_t{3} * 9 * 10 * 2, 3);
  const Reference net(fixture);
  Pixels x{3, 9, 10, 2, {pixels.begin(), pixels.end()}};
  x = net.activated(net.convolution(x, "stem", 1), "stem_norm");
  x = net.block(x, "stage_0/block_0", 1);
  x = net.block(x, "stage_1/block_0", 2);
  x = net.block(x, "stage_1/block_1", 1);
  const std::vector<double> want = net.logits(net.norm(x, "head_norm", kEpsilon));
  const Tensor logits = fixture.logits(pixels, {3, 9, 10, 2}, true);
  CHECK(logits.shape() == Shape{3, 3});
  CHECK(largest_error(logits.to_host<float>(), want) < kTolerance);
}

TEST_CASE("a RevNet without the head's norm, with the stem of large images") {
  vision::RevNetConfig config = small(vision::ResNetBlock::basic);
  config.image_shape = {16, 16, 2};
  config.blocks = {1};
  config.channels = {4};
  config.stem_kernel = 7;
  config.stem_stride = 2;
  config.stem_pool = true;
  config.add_head_batch_norm = false;
  Fixture fixture(config);
  CHECK(fixture.shapes().at("stem/w") == "[7, 7, 2, 4]");
  CHECK(fixture.shapes().count("head_norm/gamma") == 0);
  stir_norms(fixture);
  const std::vector<float> pixels = random_values(std::int64_t{2} * 16 * 16 * 2, 3);
  const Reference net(fixture);
  Pixels x{2, 16, 16, 2, {pixels.begin(), pixels.end()}};
  x = net.activated(net.convolution(x, "stem", 2), "stem_norm");
  Pixels pooled{2, 4, 4, 4, {}};
  for (std::size_t i = 0; i < 2 * 4 * 4 * 4; ++i) {
    double most = 0;  // after a relu no value is less
    for (std::size_t tap = 0; tap < 9; ++tap) {
      const std::size_t row = i / 16 % 4 * 2 + tap / 3, column = i / 4 % 4 * 2 + tap % 3;
      if (row < 1 || row > 8 || column < 1 || column > 8) continue;
      most = std::max(most, x.values[((i / 64 * 8 + row - 1) * 8 + column - 1) * 4 + i % 4]);
    }
    pooled.values.push_back(most);
  }
  const std::vector<double> want = net.logits(net.block(pooled, "stage_0/block_0", 1));
  const Tensor logits = fixture.logits(pixels, {2, 16, 16, 2}, true);
  CHECK(largest_error(logits.to_host<float>(), want) < kTolerance);
}

TEST_CASE("the gradients of a RevNet match central differences", "[slow]") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto policy =
      GENERATE(vision::CheckpointPolicy::save_everything, vision::CheckpointPolicy::save_nothing);
  vision::RevNetConfig config = small(vision::ResNetBlock::bottleneck);
  config.image_shape = {8, 7, 1};
  config.blocks = {1, 1};
  config.channels = {4, 6};
  config.norm_epsilon = 0.1;      // near 0 a norm's curvature outgrows the differences
  config.activation = "nn/Silu";  // smooth
  config.checkpoint_policy = policy;
  Fixture fixture(config, backend);
  stir_norms(fixture);
  Logits layer(*fixture.model);
  const std::vector<float> pixels = random_values(168, 3);
  const Tensor x = Tensor::from(*fixture.device, std::span<const float>(pixels), Shape{3, 8, 7, 1});
  CHECK(trivet::testing::check_layer_gradients(layer, fixture.store, x, {.train = true}) == "");
}

TEST_CASE(
    "a RevNet that is computed again has the same gradients and moving averages, bit by bit") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::vector<float> pixels = random_values(std::int64_t{3} * 9 * 10 * 2, 3);
  const auto trained = [&](vision::CheckpointPolicy policy) {
    vision::RevNetConfig config = small(vision::ResNetBlock::bottleneck);
    config.checkpoint_policy = policy;
    Fixture fixture(config, backend);
    stir_norms(fixture);
    fixture.store.begin_gradients();
    trivet::Tape tape;
    Tensor loss;
    {
      trivet::Tape::Recording recording(tape);
      const Tensor logits = fixture.logits(pixels, {3, 9, 10, 2}, true);
      loss = trivet::ops::sum(trivet::ops::mul(logits, logits));
    }
    tape.backward(loss);
    fixture.store.end_gradients();
    std::vector<std::vector<float>> all;
    for (const auto& parameter : fixture.store.parameters()) {
      all.push_back(
          (parameter->trainable() ? parameter->gradient() : parameter->value()).to_host<float>());
    }
    return all;
  };
  const auto kept = trained(vision::CheckpointPolicy::save_everything);
  CHECK(trained(vision::CheckpointPolicy::save_nothing) == kept);
  CHECK(std::ranges::any_of(kept[0], [](float value) { return value != 0; }));
}

TEST_CASE("a RevNet's dropout acts in training only") {
  vision::RevNetConfig config = small(vision::ResNetBlock::basic);
  Fixture plain(config);
  config.dropout = 0.5;
  Fixture dropping(config);
  const std::vector<float> pixels = random_values(180, 3);
  CHECK(dropping.logits(pixels, {1, 9, 10, 2}).to_host<float>() ==
        plain.logits(pixels, {1, 9, 10, 2}).to_host<float>());
  Fixture other(small(vision::ResNetBlock::basic));
  CHECK(Fixture(config).logits(random_values(360, 3), {2, 9, 10, 2}, true).to_host<float>() !=
        other.logits(random_values(360, 3), {2, 9, 10, 2}, true).to_host<float>());
}

TEST_CASE("a RevNet reports bad configs and images") {
  vision::RevNetConfig config = small(vision::ResNetBlock::basic);
  Fixture fixture(config);
  CHECK_THROWS_WITH(fixture.logits(random_values(180, 3), {1, 10, 9, 2}),
                    Contains("vision/RevNet: expected images [B, 9, 10, 2]"));
  CHECK(problems(config).empty());
  config.depth = 57;
  CHECK(problems(config) ==
        "depth: is 57, which is not in the table\n"
        "blocks: is set together with depth\n"
        "channels: is set together with depth\n");
  config.depth = 0;
  config.blocks = {};
  CHECK(problems(config) == "blocks: is empty\nchannels: has 2 numbers, and blocks has 0\n");
  config.blocks = {1, 10001, 1};
  config.channels = {8, 5, 6};
  config.stem_kernel = 2;
  CHECK(problems(config) ==
        "blocks: has a stage of more than 10,000 blocks\n"
        "channels: has 5, which has no two equal halves\n"
        "channels: falls from 8 to 5, and the sums would lose channels\n"
        "stem_kernel: is even, so it has no center pixel\n");
  config = small(vision::ResNetBlock::basic);
  config.blocks.assign(11, 1);
  config.channels.assign(11, (1 << 20) + 2);
  CHECK_THAT(problems(config), Contains("blocks: has 11 stages\n") &&
                                   Contains("channels: has more than 1,048,576 filters\n"));
}

}  // namespace vision_revnet_test
