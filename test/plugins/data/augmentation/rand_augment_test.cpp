// SPDX-License-Identifier: Apache-2.0
// RandAugment: which operations are drawn, how often, with which magnitude, and inputs that use it.
#include "data/augmentation/rand_augment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include <catch2/catch.hpp>

#include "data/augmentation/operation.h"
#include "plugins/data/files.h"
#include "plugins/data/sample_image.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/testing/input_check.h"

namespace rand_augment_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using data::ImageOperation;

namespace {

using Values = std::vector<std::uint8_t>;
using enum ImageOperation;

// All operations but those given.
std::vector<ImageOperation> all_but(const std::vector<ImageOperation>& kept) {
  return data::RandAugmentConfig{.exclude_ops = kept}.operations();
}

Values applied(const data::RandAugmentConfig& config, SampleImage image, std::uint64_t seed) {
  data::RandAugment(config, image.height, image.width).apply(data::Draws(RngKey(seed)), image);
  return image.values;
}

data::SyntheticConfig input_config(std::int64_t batch_size = 16) {
  data::SyntheticConfig config;
  config.image_shape = {12, 10, 3};
  config.num_classes = 3;
  config.examples = 64;
  config.batch_size = batch_size;
  config.shuffle = true;
  config.augment.crop_padding = 1;
  config.augment.horizontal_flip = true;
  config.augment.color_jitter = {.brightness = 0.2, .contrast = 0.2, .saturation = 0.2};
  config.augment.rand_augment = data::RandAugmentConfig{.magnitude = 6, .magnitude_std = 1};
  config.augment.random_erasing = data::RandomErasingConfig{.probability = 0.5};
  return config;
}

std::unique_ptr<Input> made(const data::SyntheticConfig& config, Phase phase = Phase::training) {
  InputContext context{.phase = phase, .name = "input"};
  return std::make_unique<data::SyntheticInput>(config, context);
}

std::vector<float> images(Input& input) {
  return input.get_next().value().at("image").to_host<float>();
}

}  // namespace

TEST_CASE("each operation, and none, is drawn equally often") {
  // Each operation has its own result for this image.
  const SampleImage image = sample_image(24, 20, 3);
  const data::RandAugmentConfig config{.num_layers = 1, .magnitude = 4};
  std::map<Values, std::set<std::string>> names_of;
  for (const std::string_view name : enum_names<ImageOperation>()) {
    const ImageOperation operation = *enum_from_name<ImageOperation>(name);
    const data::OperationReach reach(std::nullopt, std::nullopt, image.height, image.width);
    for (std::uint64_t seed = 0; seed < 9000; ++seed) {
      SampleImage changed = image;
      data::Draws draws{RngKey(seed)};
      data::apply_operation(operation, 4, reach, draws, changed);
      names_of[changed.values].insert(std::string(name));
      if (operation != Cutout && seed == 20) break;
    }
  }
  names_of[image.values] = {"none"};
  constexpr int kDraws = 8500;
  std::map<std::string, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    const auto found = names_of.find(applied(config, image, static_cast<std::uint64_t>(i)));
    REQUIRE(found != names_of.end());
    REQUIRE(found->second.size() == 1);
    ++counts[*found->second.begin()];
  }
  REQUIRE(counts.size() == 17);
  double chi_square = 0;
  for (const auto& count : counts) {
    INFO(count.first);
    chi_square += std::pow(count.second - kDraws / 17.0, 2) / (kDraws / 17.0);
  }
  CHECK(chi_square < 45.8);  // 16 degrees of freedom: one in ten thousand
}

TEST_CASE("layers are applied one after the other") {
  const SampleImage image{1, 1, 1, {10}};
  // Inverted or not, three times.
  const data::RandAugmentConfig config{.num_layers = 3, .exclude_ops = all_but({Invert})};
  std::map<int, int> counts;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    ++counts[applied(config, image, seed)[0]];
  }
  CHECK(counts.size() == 2);
  CHECK(counts[245] == Approx(500).margin(80));
  // And half of those that are drawn: inverted with probability 1/4 in each layer, which leaves an
  // odd number of times with (1 - (1/2)^3) / 2 = 7/16.
  data::RandAugmentConfig half = config;
  half.prob_to_apply = 0.5;
  int inverted = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    inverted += applied(half, image, seed)[0] == 245 ? 1 : 0;
  }
  CHECK(inverted == Approx(437.5).margin(79));
  half.prob_to_apply = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CHECK(applied(half, image, seed)[0] == 10);
  }
}

TEST_CASE("the magnitude varies by its standard deviation") {
  // Brightness of 100 is 10 + 18 m, so the magnitude can be read to 1/18.
  const SampleImage image{1, 1, 1, {100}};
  const data::RandAugmentConfig config{
      .num_layers = 1, .magnitude = 4, .magnitude_std = 1, .exclude_ops = all_but({Brightness})};
  double sum = 0, squares = 0, count = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const double value = applied(config, image, seed)[0] + 0.5;
    if (value == 100.5) continue;  // mostly where nothing was drawn
    const double magnitude = (value - 10) / 18;
    sum += magnitude, squares += magnitude * magnitude, ++count;
  }
  CHECK(sum / count == Approx(4).margin(0.1));
  CHECK(std::sqrt(squares / count - sum * sum / count / count) == Approx(1).margin(0.06));
  data::RandAugmentConfig wide = config;
  wide.magnitude_std = 50;
  std::map<int, int> values;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) ++values[applied(wide, image, seed)[0]];
  CHECK(values[10] > 150);   // magnitude 0
  CHECK(values[190] > 150);  // magnitude 10
  CHECK(values.begin()->first == 10);
  CHECK(values.rbegin()->first == 190);
}

TEST_CASE("excluded operations are not drawn, and one must be left") {
  data::RandAugmentConfig config{.exclude_ops = {Cutout, Invert}};
  CHECK(config.operations().size() == 14);
  CHECK(std::ranges::count(config.operations(), Invert) == 0);
  const auto problem = [&] {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    return diagnostics.empty() ? "" : diagnostics.list()[0].path + " " + diagnostics.list()[0].what;
  };
  CHECK(problem().empty());
  config.exclude_ops = all_but({});
  CHECK(problem() == "exclude_ops excludes all operations");
}

TEST_CASE("the config names unknown operations and fields with what is near") {
  const auto refusal = [](const char* json) -> std::string {
    try {
      decode<data::AugmentConfig>(value_from_json(json, "test"), "augment");
      return "";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  CHECK(refusal(R"({"rand_augment": {}})").empty());
  CHECK(refusal(R"({"rand_augment": {"exclude_ops": ["Solarize"]}})").empty());
  CHECK_THAT(refusal(R"({"rand_augment": {"exclude_ops": ["Solarise"]}})"),
             Contains("augment.rand_augment.exclude_ops[0]") && Contains("'Solarize'"));
  CHECK_THAT(refusal(R"({"rand_augment": {"exclude_ops": ["rotate"]}})"), Contains("'Rotate'"));
  CHECK_THAT(refusal(R"({"rand_augment": {"magnitude": 11}})"),
             Contains("augment.rand_augment.magnitude"));
  CHECK_THAT(refusal(R"({"rand_augment": {"num_layer": 3}})"), Contains("'num_layers'"));
}

TEST_CASE("an augmented input keeps the promises of inputs") {
  const data::SyntheticConfig config = input_config(7);
  CHECK(trivet::testing::check_input([&] { return made(config); }, 7,
                                     {.batches = 12, .resets = false}) == "");
  data::SyntheticConfig mixed = config;
  mixed.augment.mixup_alpha = 0.4;
  CHECK(trivet::testing::check_input([&] { return made(mixed); }, 7,
                                     {.batches = 12, .resets = false}) == "");
}

TEST_CASE("images depend on seed, epoch and example, not on batches, hosts or a resume") {
  // Without shuffling, in other batches.
  data::SyntheticConfig config = input_config(64);
  config.shuffle = false;
  const auto whole = made(config);
  const auto pass_0 = images(*whole), pass_1 = images(*whole);
  CHECK(pass_0 != pass_1);
  config.batch_size = 16;
  const auto parts = made(config);
  std::vector<float> joined;
  for (int i = 0; i < 4; ++i) {
    const auto part = images(*parts);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  CHECK(joined == pass_0);
  // Two hosts together.
  config.batch_size = 8;
  config.num_infeed_hosts = 2;
  const auto first = made(config);
  config.infeed_host_index = 1;
  const auto second = made(config);
  auto both = images(*first);
  const auto more = images(*second);
  both.insert(both.end(), more.begin(), more.end());
  CHECK(std::equal(both.begin(), both.end(), pass_0.begin()));
  // Resumed in the second pass.
  config = input_config(16);
  const auto run = made(config), resumed = made(config);
  for (int i = 0; i < 6; ++i) images(*run);
  resumed->restore_state(run->save_state());
  for (int i = 0; i < 5; ++i) CHECK(images(*resumed) == images(*run));
}

TEST_CASE("evaluation, and a config without the table, leave images as they are") {
  data::SyntheticConfig config = input_config();
  const auto evaluated = images(*made(config, Phase::evaluation));
  CHECK(images(*made(config)) != evaluated);
  config.augment = {};
  CHECK(images(*made(config, Phase::evaluation)) == evaluated);
}

TEST_CASE("images of two channels have no gray") {
  data::SyntheticConfig config = input_config();
  config.image_shape = {8, 8, 2};
  config.augment.color_jitter = {};
  CHECK_THAT(complaint<data::SyntheticInput>(config),
             Contains("Color of augment.rand_augment needs images of 1 or 3 channels, examples "
                      "are [8, 8, 2]") &&
                 Contains("exclude_ops"));
  config.augment.rand_augment->exclude_ops = {Color, Contrast};
  CHECK(complaint<data::SyntheticInput>(config).empty());
  images(*made(config));
}

}  // namespace rand_augment_test
