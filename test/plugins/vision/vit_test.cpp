// SPDX-License-Identifier: Apache-2.0
// Vit: parameter names, parameter counts of the published networks, and values against plain loops
// in double.
#include "vision/vit.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "model_fixture.h"
#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace vision_vit_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::test::affine;
using trivet::test::largest_error;
using trivet::test::layer_norm;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;
namespace vision = trivet::vision;
using Fixture = trivet::test::ModelFixture<vision::Vit>;

constexpr std::size_t kHeight = 4, kWidth = 6, kDepth = 2, kPatch = 2;

vision::VitConfig small(vision::VitPooling pooling) {
  vision::VitConfig config;
  config.image_shape = {kHeight, kWidth, kDepth};
  config.num_classes = 3;
  config.patch = kPatch;
  config.model_dims = 8;
  config.depth = 2;
  config.num_heads = 2;
  config.pooling = pooling;
  return config;
}

// Makes all weights random, so that a 0 hides none.
void stir(Fixture& fixture) {
  std::uint64_t seed = 70;
  for (const auto& parameter : fixture.store.parameters()) {
    const std::vector<float> values = random_values(parameter->shape().size(), ++seed, 0.3);
    parameter->assign(
        Tensor::from(*fixture.device, std::span<const float>(values), parameter->shape()));
  }
}

// One image's patches, each as a row of its pixels from left to right and top to bottom.
Rows patches(const std::vector<float>& pixels, std::size_t image) {
  Rows rows;
  for (std::size_t top = 0; top < kHeight; top += kPatch) {
    for (std::size_t left = 0; left < kWidth; left += kPatch) {
      Row row;
      for (std::size_t y = top; y < top + kPatch; ++y) {
        for (std::size_t i = left * kDepth; i < (left + kPatch) * kDepth; ++i) {
          row.push_back(static_cast<double>(pixels[(image * kHeight + y) * kWidth * kDepth + i]));
        }
      }
      rows.push_back(row);
    }
  }
  return rows;
}

Rows learned(const Fixture& fixture) {
  const std::vector<float> values = fixture.values("positions");
  Rows rows;
  for (std::size_t i = 0; i < values.size(); i += 8) {
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i),
                      values.begin() + static_cast<std::ptrdiff_t>(i + 8));
  }
  return rows;
}

// Of the 2 x 3 patches: rows are at -1 and 0, columns at -1.5, -0.5 and 0.5; two angles each, the
// second 100 times slower.
Rows fixed(vision::VitPooling pooling) {
  Rows rows;
  if (pooling == vision::VitPooling::class_token) rows.emplace_back(8, 0.0);
  for (const double y : {-1.0, 0.0}) {
    for (const double x : {-1.5, -0.5, 0.5}) {
      rows.push_back({std::sin(y), std::sin(y / 100), std::cos(y), std::cos(y / 100), std::sin(x),
                      std::sin(x / 100), std::cos(x), std::cos(x / 100)});
    }
  }
  return rows;
}

Row logits(const Fixture& fixture, const std::vector<float>& pixels, std::size_t image,
           vision::VitPooling pooling, const Rows& positions) {
  Rows x = affine(patches(pixels, image), fixture.values("patches/w"), fixture.values("patches/b"));
  const bool token = pooling == vision::VitPooling::class_token;
  if (token) {
    const std::vector<float> values = fixture.values("class_token");
    x.insert(x.begin(), Row(values.begin(), values.end()));
  }
  REQUIRE(positions.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t d = 0; d < 8; ++d) x[i][d] += positions[i][d];
  }
  for (const std::string block : {"block_0/", "block_1/"}) {
    x = trivet::test::transformer_block(
        x, [&](const std::string& path) { return fixture.values(block + path); }, {2, 2});
  }
  x = layer_norm(x, fixture.values("norm/scale"), fixture.values("norm/bias"));
  Row pooled = x[0];
  if (!token) {
    pooled.assign(8, 0.0);
    for (const Row& row : x) {
      for (std::size_t d = 0; d < 8; ++d) pooled[d] += row[d] / static_cast<double>(x.size());
    }
  }
  if (fixture.shapes().contains("representation/w")) {
    pooled = affine(pooled, fixture.values("representation/w"), fixture.values("representation/b"));
    for (double& value : pooled) value = std::tanh(value);
  }
  return affine(pooled, fixture.values("output/w"), fixture.values("output/b"));
}

// Trainable numbers of a network for images of 224 x 224 pixels and 1000 classes.
std::int64_t parameters_of(std::int64_t dims, std::int64_t depth, std::int64_t heads) {
  vision::VitConfig config;
  config.image_shape = {224, 224, 3};
  config.num_classes = 1000;
  config.patch = 16;
  config.model_dims = dims;
  config.depth = depth;
  config.num_heads = heads;
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::test::use_plugin("nn");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  const vision::Vit model(config, scope);
  return store.trainable_count();  // not built: nothing is allocated
}

}  // namespace

TEST_CASE("a Vit computes patches, positions, blocks and the pooled classifier") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto pooling = GENERATE(vision::VitPooling::class_token, vision::VitPooling::mean);
  const auto positions = GENERATE(vision::VitPositions::learned, vision::VitPositions::sincos_2d);
  vision::VitConfig config = small(pooling);
  config.position_emb = positions;
  config.representation_dims = GENERATE(0, 5);
  Fixture fixture(config, backend);
  stir(fixture);
  const bool is_learned = positions == vision::VitPositions::learned;
  const std::vector<float> pixels = random_values(2 * kHeight * kWidth * kDepth, 3);
  Row want;
  for (const std::size_t image : {0, 1}) {
    const Row row =
        logits(fixture, pixels, image, pooling, is_learned ? learned(fixture) : fixed(pooling));
    want.insert(want.end(), row.begin(), row.end());
  }
  const Tensor got = fixture.logits(pixels, {2, 4, 6, 2});
  CHECK(got.shape() == Shape{2, 3});
  // A few hundred products and four norms in f32.
  CHECK(largest_error(got.to_host<float>(), want) < 5e-5);
}

TEST_CASE("a Vit's parameters are called after their layers") {
  const auto shapes = Fixture(small(vision::VitPooling::class_token)).shapes();
  CHECK(shapes.at("patches/w") == "[2, 2, 2, 8]");
  CHECK(shapes.at("patches/b") == "[8]");
  CHECK(shapes.at("class_token") == "[1, 1, 8]");
  CHECK(shapes.at("positions") == "[7, 8]");
  CHECK(shapes.at("block_1/attention_norm/scale") == "[8]");
  CHECK(shapes.at("block_1/attention/query/w") == "[8, 8]");
  CHECK(shapes.at("block_1/mlp_in/w") == "[8, 32]");
  CHECK(shapes.at("norm/bias") == "[8]");
  CHECK(shapes.at("output/w") == "[8, 3]");
  CHECK(shapes.size() == 2 + 2 + 2 * 16 + 2 + 2);
  const auto mean = Fixture(small(vision::VitPooling::mean)).shapes();
  CHECK(mean.count("class_token") == 0);
  CHECK(mean.at("positions") == "[6, 8]");
}

TEST_CASE("the published networks have as many parameters as published") {
  // Touvron et al. 2021, table 1: 5M and 22M; Dosovitskiy et al. 2021, table 1: 86M and 307M. The
  // exact numbers are timm's (vit_{tiny,small,base,large}_patch16_224).
  CHECK(parameters_of(192, 12, 3) == 5'717'416);
  CHECK(parameters_of(384, 12, 6) == 22'050'664);
  CHECK(parameters_of(768, 12, 12) == 86'567'656);
  CHECK(parameters_of(1024, 24, 16) == 304'326'632);
}

TEST_CASE("a Vit starts as its authors' code: class token and classifier at 0, small positions") {
  vision::VitConfig config = small(vision::VitPooling::class_token);
  Fixture fixture(config);
  for (const char* path : {"class_token", "output/w", "output/b"}) {
    for (const float value : fixture.values(path)) CHECK(value == 0);
  }
  const std::vector<float> positions = fixture.values("positions");
  double squares = 0;
  for (const float value : positions) squares += std::pow(static_cast<double>(value), 2);
  // 56 numbers give the standard deviation within 9.5 % a standard deviation.
  CHECK(std::sqrt(squares / static_cast<double>(positions.size())) == Approx(0.02).epsilon(0.4));
  config.init = {trivet::Init::constant, 0.25};
  Fixture constant(config);
  for (const char* path : {"patches/w", "class_token", "positions", "block_0/mlp_out/w",
                           "block_1/attention/value/w", "output/w"}) {
    for (const float value : constant.values(path)) CHECK(value == 0.25F);
  }
}

TEST_CASE("a Vit with fixed positions has no parameter for them, and a multiple of 4 features") {
  vision::VitConfig config = small(vision::VitPooling::class_token);
  config.position_emb = vision::VitPositions::sincos_2d;
  const auto shapes = Fixture(config).shapes();
  CHECK(shapes.count("positions") == 0);
  CHECK(shapes.count("class_token") == 1);
  config.model_dims = 10;
  trivet::Diagnostics found;
  config.validate(found);
  REQUIRE(found.list().size() == 1);
  CHECK(found.list()[0].path == "model_dims");
  CHECK(found.list()[0].what == "is 10, and position_emb = \"sincos_2d\" needs a multiple of 4");
  config.position_emb = vision::VitPositions::learned;
  trivet::Diagnostics none;
  config.validate(none);
  CHECK(none.list().empty());
}

TEST_CASE("a Vit drops out in training only") {
  vision::VitConfig config = small(vision::VitPooling::mean);
  Fixture plain(config);
  config.dropout = 0.5;
  Fixture dropping(config);
  stir(plain);
  stir(dropping);
  const std::vector<float> pixels = random_values(48, 3);
  const auto want = plain.logits(pixels, {1, 4, 6, 2}).to_host<float>();
  CHECK(plain.logits(pixels, {1, 4, 6, 2}, true).to_host<float>() == want);
  CHECK(dropping.logits(pixels, {1, 4, 6, 2}).to_host<float>() == want);
  CHECK(dropping.logits(pixels, {1, 4, 6, 2}, true).to_host<float>() != want);
}

TEST_CASE("a Vit's blocks drop more examples from the first to the last") {
  vision::VitConfig config = small(vision::VitPooling::mean);
  Fixture whole(config);
  config.init_stochastic_depth_rate = 0.99999;  // block 0 of 2 drops half, block 1 all
  Fixture dropping(config);
  stir(whole);
  stir(dropping);
  const std::vector<float> pixels = random_values(8 * kHeight * kWidth * kDepth, 3);
  const Shape shape{8, kHeight, kWidth, kDepth};
  const auto logits_of = [&](Fixture& fixture, bool train) {
    return fixture.logits(pixels, shape, train).to_host<float>();
  };
  CHECK(logits_of(dropping, false) == logits_of(whole, false));
  const std::vector<float> before = logits_of(dropping, true);
  CHECK(before != logits_of(whole, true));
  const auto clear = [&](const std::string& block) {
    for (const char* part : {"/attention/output/w", "/mlp_out/w"}) {
      auto* weights = dropping.store.find(block + part);
      REQUIRE(weights != nullptr);
      weights->assign(Tensor::full(*dropping.device, weights->shape(), 0.5));
    }
  };
  clear("block_1");
  CHECK(logits_of(dropping, true) == before);  // it took no part
  clear("block_0");
  CHECK(logits_of(dropping, true) != before);
}

TEST_CASE("a Vit refuses images of another shape") {
  Fixture fixture(small(vision::VitPooling::mean));
  CHECK_THROWS_WITH(fixture.logits(random_values(48, 3), {1, 6, 4, 2}),
                    Contains("vision/Vit: expected images [B, 4, 6, 2]"));
}

}  // namespace vision_vit_test
