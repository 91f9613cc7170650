// SPDX-License-Identifier: Apache-2.0
// data/Synthetic: images depend on the seeds, and classes differ.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

using namespace trivet;
using namespace trivet::test;

namespace {

data::SyntheticConfig small_config() {
  data::SyntheticConfig config;
  config.image_shape = {8, 9, 2};
  config.num_classes = 3;
  config.examples = 30;
  config.batch_size = 30;
  return config;
}

Batch first_batch(const data::SyntheticConfig& config, Phase phase = Phase::training) {
  InputContext context{.phase = phase, .name = "input"};
  return data::SyntheticInput(config, context).get_next().value();
}

std::vector<float> images(const data::SyntheticConfig& config, Phase phase = Phase::training) {
  return first_batch(config, phase).at("image").to_host<float>();
}

}  // namespace

TEST_CASE("synthetic images have the asked shape and range, and every class") {
  const Batch batch = first_batch(small_config());
  CHECK(batch.at("image").shape() == Shape{30, 8, 9, 2});
  for (const float value : batch.at("image").to_host<float>()) {
    CHECK(value >= 0);
    CHECK(value <= 1);
  }
  const auto labels = batch.at("label").to_host<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) CHECK(labels[i] == static_cast<int>(i % 3));
}

TEST_CASE("synthetic images are a function of seeds and split alone") {
  auto config = small_config();
  const auto first = images(config);
  CHECK(images(config) == first);
  CHECK(images(config, Phase::evaluation) != first);
  config.split = "train";
  CHECK(images(config, Phase::evaluation) == first);
  config.seed = 1;
  CHECK(images(config) != first);
  config = small_config();
  config.template_seed = 1;
  CHECK(images(config) != first);
  // Shuffling changes the order, not the examples.
  config = small_config();
  config.shuffle = true;
  const Batch shuffled = first_batch(config);
  const auto labels = shuffled.at("label").to_host<std::int32_t>();
  const auto pixels = shuffled.at("image").to_host<float>();
  int found = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 30; ++j) {
      if (std::equal(pixels.begin() + 144 * i, pixels.begin() + 144 * (i + 1),
                     first.begin() + 144 * j)) {
        ++found;
        CHECK(labels[i] == static_cast<int>(j % 3));
      }
    }
  }
  CHECK(found == 30);
}

TEST_CASE("without noise an example is its class's pattern of 4 x 4 blocks; with it, near it") {
  auto config = small_config();
  config.noise = 0;
  const auto patterns = images(config);
  CHECK(images(config, Phase::evaluation) == patterns);
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 9; ++x) {
      for (std::size_t c = 0; c < 2; ++c) {
        CHECK(patterns[(y * 9 + x) * 2 + c] == patterns[(y / 4 * 4 * 9 + x / 4 * 4) * 2 + c]);
      }
    }
  }
  // The six blocks, two channels each, have different shades.
  std::set<std::pair<float, float>> shades;
  for (std::size_t y = 0; y < 8; y += 4) {
    for (std::size_t x = 0; x < 9; x += 4) {
      shades.insert({patterns[(y * 9 + x) * 2], patterns[(y * 9 + x) * 2 + 1]});
    }
  }
  CHECK(shades.size() == 6);
  CHECK(std::equal(patterns.begin(), patterns.begin() + 144, patterns.begin() + 3 * 144));
  CHECK_FALSE(std::equal(patterns.begin(), patterns.begin() + 144, patterns.begin() + 144));

  config.noise = 0.25;
  const auto noisy = images(config);
  CHECK(noisy != patterns);
  // A quarter of a value in [0, 1] is replaced, and bytes are truncated to integers.
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    CHECK(std::fabs(noisy[i] - patterns[i]) <= 0.25F + 1.0F / 255);
  }
}

TEST_CASE("synthetic configs of odd shapes are refused") {
  auto refused = [](const char* shape) {
    Value value = Value::table({{"batch_size", 1}});
    value.set("image_shape", Value::array());
    for (const char* c = shape; *c != 0; ++c) value.find("image_shape")->push_back(*c - '0');
    CHECK_THROWS_AS(decode<data::SyntheticConfig>(value), ConfigError);
  };
  refused("");
  refused("44");
  refused("4444");
  refused("404");
  auto config = small_config();
  config.image_shape = {65536, 65536, 65536};
  CHECK_THAT(complaint<data::SyntheticInput>(config), Catch::Contains("too large"));
}
