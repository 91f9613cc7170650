// SPDX-License-Identifier: Apache-2.0
// VanillaNet: names, values against plain loops in double, and signals that keep their size.
#include "vision/vanillanet.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "image_reference.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace vision_vanillanet_test {
namespace {

using Catch::Contains;
using trivet::Tensor;
using trivet::test::largest_error;
using trivet::test::Pixels;
using trivet::test::random_values;
namespace vision = trivet::vision;
using Fixture = trivet::test::ModelFixture<vision::VanillaNet>;
using Reference = trivet::test::ImageReference<vision::VanillaNet>;

vision::VanillaNetConfig small() {
  vision::VanillaNetConfig config;
  config.image_shape = {9, 10, 2};
  config.num_classes = 3;
  config.blocks = {1, 2};
  config.channels = {8, 12};
  config.strides = {1, 2};
  config.kernels = {3, 5};
  config.stem_kernel = 3;
  return config;
}

// Equation 8 of the paper: LReLU with slope s, times sqrt(2 / (1 + s^2)).
Pixels rectified(Pixels x, double s) {
  for (double& v : x.values) v = std::sqrt(2 / (1 + s * s)) * (v > 0 ? v : s * v);
  return x;
}

Pixels max_pool(const Pixels& x) {
  Pixels y{x.n, (x.h + 1) / 2, (x.w + 1) / 2, x.c, {}};
  for (std::size_t i = 0; i < y.n * y.h * y.w * y.c; ++i) {
    double most = -1e30;
    for (std::size_t tap = 0; tap < 9; ++tap) {
      const std::size_t row = i / (y.c * y.w) % y.h * 2 + tap / 3,
                        column = i / y.c % y.w * 2 + tap % 3;
      if (row < 1 || row > x.h || column < 1 || column > x.w) continue;
      const std::size_t image = i / (y.c * y.w * y.h);
      most = std::max(most, x.values[((image * x.h + row - 1) * x.w + column - 1) * x.c + i % y.c]);
    }
    y.values.push_back(most);
  }
  return y;
}

}  // namespace

TEST_CASE("a VanillaNet's parameters are called after stage, block and convolution") {
  const auto shapes = Fixture(small()).shapes();
  CHECK(shapes.at("stem/w") == "[3, 3, 2, 2]");
  CHECK(shapes.at("stem/b") == "[2]");
  CHECK(shapes.at("stage_0/block_0/conv_0/w") == "[1, 1, 2, 2]");
  CHECK(shapes.at("stage_0/block_0/conv_1/w") == "[3, 3, 2, 2]");
  CHECK(shapes.at("stage_0/block_0/conv_2/w") == "[1, 1, 2, 8]");
  CHECK(shapes.at("stage_1/block_0/conv_0/w") == "[1, 1, 8, 3]");
  CHECK(shapes.at("stage_1/block_1/conv_1/w") == "[5, 5, 3, 3]");
  CHECK(shapes.at("output/w") == "[12, 3]");
  CHECK(shapes.size() == (1 + 3 * 3 + 1) * 2);
}

TEST_CASE("a VanillaNet computes its formula") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool pooled = GENERATE(true, false);
  const double slope = GENERATE(0.4, 0.0);
  vision::VanillaNetConfig config = small();
  config.stem_pool = pooled;
  config.negative_slope = slope;
  Fixture fixture(config, backend);
  const Reference net(fixture);
  const std::vector<float> pixels = random_values(2 * 9 * 10 * 2, 3);
  Pixels x{2, 9, 10, 2, {pixels.begin(), pixels.end()}};
  const auto step = [&](const std::string& path, std::size_t stride) {
    x = rectified(net.convolution(x, path, stride), slope);
  };
  step("stem", 2);
  if (pooled) x = max_pool(x);
  for (const auto& [block, stride] :
       {std::pair{"stage_0/block_0", 1}, {"stage_1/block_0", 2}, {"stage_1/block_1", 1}}) {
    step(std::string(block) + "/conv_0", 1);
    step(std::string(block) + "/conv_1", static_cast<std::size_t>(stride));
    step(std::string(block) + "/conv_2", 1);
  }
  const Tensor logits = fixture.logits(pixels, {2, 9, 10, 2});
  CHECK(largest_error(logits.to_host<float>(), net.logits(x)) < 1e-5);
}

TEST_CASE("a VanillaNet's filters start delta-orthogonal and keep the mean square of a pixel") {
  Fixture fixture(small());
  const auto check = [&](const std::string& path, std::size_t kernel, std::size_t in,
                         std::size_t out) {
    INFO(path);
    const std::vector<float> w = fixture.values(path);
    REQUIRE(w.size() == kernel * kernel * in * out);
    const std::size_t center = kernel * kernel / 2 * in * out;
    // With m the matrix in the center, m m^T = out / in if it widens, m^T m = 1 if it narrows.
    const bool widens = out > in;
    const std::size_t count = std::min(in, out), length = std::max(in, out);
    double worst = 0, outside = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (i < center || i >= center + in * out) outside += std::abs(static_cast<double>(w[i]));
    }
    for (std::size_t a = 0; a < count * count; ++a) {
      const auto at = [&](std::size_t v, std::size_t i) {
        return static_cast<double>(w[center + (widens ? v * out + i : i * out + v)]);
      };
      double product = 0;
      for (std::size_t i = 0; i < length; ++i) product += at(a / count, i) * at(a % count, i);
      const double square = widens ? static_cast<double>(out) / static_cast<double>(in) : 1;
      worst = std::max(worst, std::abs(product - (a / count == a % count ? square : 0)));
    }
    CHECK(worst < 1e-5);
    CHECK(outside == 0);
  };
  check("stem/w", 3, 2, 2);
  check("stage_0/block_0/conv_1/w", 3, 2, 2);
  check("stage_0/block_0/conv_2/w", 1, 2, 8);
  check("stage_1/block_0/conv_0/w", 1, 8, 3);
  check("stage_1/block_1/conv_1/w", 5, 3, 3);
  vision::VanillaNetConfig config = small();
  config.init = {trivet::Init::constant, 0.25};
  Fixture constant(config);
  for (const char* path : {"stem/w", "stage_1/block_0/conv_2/w", "output/w"}) {
    for (const float value : constant.values(path)) CHECK(value == 0.25F);
  }
}

TEST_CASE("signals keep their size through a deep VanillaNet") {
  vision::VanillaNetConfig config = small();
  config.image_shape = {2, 2, 64};
  config.num_classes = 64;
  config.blocks = {12};
  config.channels = {512};
  config.strides = {1};
  config.kernels = {1};
  config.stem_kernel = 1;
  config.stem_stride = 1;
  config.stem_pool = false;
  Fixture fixture(config);
  const std::vector<float> logits =
      fixture.logits(random_values(4 * 4 * 64, 3), {4, 2, 2, 64}).to_host<float>();
  double squares = 0;
  for (const float v : logits) squares += static_cast<double>(v) * static_cast<double>(v) / 256;
  // 37 layers. Without the gain they would shrink by sqrt((1 + 0.16) / 2)^37 = 4e-5.
  CHECK(std::sqrt(squares) > 0.05);
  CHECK(std::sqrt(squares) < 5);
}

TEST_CASE("a VanillaNet reports bad configs and images") {
  vision::VanillaNetConfig config = small();
  Fixture fixture(config);
  CHECK_THROWS_WITH(fixture.logits(random_values(180, 3), {1, 10, 9, 2}),
                    Contains("vision/VanillaNet: expected images [B, 9, 10, 2]"));
  config.channels = {8, 10};
  config.kernels = {3, 4};
  config.strides = {1};
  trivet::Diagnostics found;
  config.validate(found);
  std::string texts;
  for (const trivet::Diagnostic& problem : found.list()) {
    texts += problem.path + ": " + problem.what + "\n";
  }
  CHECK(texts ==
        "strides: has 1 numbers, and blocks has 2\n"
        "channels: has 10, which is no multiple of 4\n"
        "kernels: is even, so it has no center pixel\n");
}

}  // namespace vision_vanillanet_test
