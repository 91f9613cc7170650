// SPDX-License-Identifier: Apache-2.0
// AutoAugment: which sub-policies are drawn, policies of the config, and the published ones.
#include "data/augmentation/auto_augment.h"

#include <map>
#include <memory>
#include <set>

#include <catch2/catch.hpp>

#include "data/augmentation/published_policies.h"
#include "plugins/data/files.h"
#include "plugins/data/sample_image.h"
#include "trivet/config/json.h"
#include "trivet/testing/input_check.h"

namespace auto_augment_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

using Values = std::vector<std::uint8_t>;
using Policies = std::vector<std::vector<data::PolicyStepConfig>>;
using enum data::ImageOperation;

Values applied(const data::AutoAugmentConfig& config, SampleImage image, std::uint64_t seed) {
  data::AutoAugment(config, image.height, image.width).apply(data::Draws(RngKey(seed)), image);
  return image.values;
}

// Of the config as a table would have it.
std::vector<std::string> problems(const data::AugmentConfig& config) {
  std::vector<std::string> found;
  try {
    decode<data::AugmentConfig>(encode(config), "augment");
  } catch (const ConfigError& error) {
    for (const Diagnostic& problem : error.diagnostics()) {
      found.push_back(problem.path + " " + problem.what);
    }
  }
  return found;
}

data::SyntheticConfig input_config(const data::AutoAugmentConfig& policy) {
  data::SyntheticConfig config;
  config.image_shape = {12, 10, 3};
  config.num_classes = 3;
  config.examples = 40;
  config.batch_size = 8;
  config.shuffle = true;
  config.augment.auto_augment = policy;
  return config;
}

}  // namespace

TEST_CASE("one sub-policy is drawn, and each of its operations by its probability") {
  // 10 becomes 245; or 32 more with probability 1/4; or 245 and 128 with 0.5 and 1.
  const data::AutoAugmentConfig config{.policies = {{{Invert, 1, {}}},
                                                    {{SolarizeAdd, 0.25, 3}},
                                                    {{Invert, 0.5, {}}, {Posterize, 1, 2.5}}}};
  std::map<int, int> counts;
  constexpr int kDraws = 6000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    ++counts[applied(config, {1, 1, 1, {10}}, seed)[0]];
  }
  // Five standard deviations of a share p are 5 sqrt(p (1 - p) 6000).
  CHECK(counts.size() == 5);
  CHECK(counts[245] == Approx(kDraws / 3.0).margin(183));
  CHECK(counts[43] == Approx(kDraws / 12.0).margin(108));
  CHECK(counts[10] == Approx(kDraws / 4.0).margin(168));
  CHECK(counts[0] == Approx(kDraws / 6.0).margin(145));
  CHECK(counts[128] == Approx(kDraws / 6.0).margin(145));
}

TEST_CASE("a published policy is what its list of sub-policies is") {
  const Policies listed = data::published_policy(data::AutoAugmentPolicy::cifar10);
  const SampleImage image = sample_image(12, 12, 3);
  std::set<Values> results;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Values result = applied({.policy = data::AutoAugmentPolicy::cifar10}, image, seed);
    CHECK(result == applied({.policies = listed}, image, seed));
    results.insert(result);
  }
  CHECK(results.size() > 30);
}

TEST_CASE("translations have the reach of the config") {
  const SampleImage image{1, 3, 1, {1, 2, 3}};
  data::AutoAugmentConfig config{.policies = {{{TranslateX, 1, 10.0}}}};
  const auto results = [&] {
    std::set<Values> found;
    for (std::uint64_t seed = 0; seed < 20; ++seed) found.insert(applied(config, image, seed));
    return found;
  };
  CHECK(results() == std::set<Values>{{2, 3, 128}, {128, 1, 2}});  // 3 * 100 / 224, rounded
  config.translate_const = 2;
  CHECK(results() == std::set<Values>{{3, 128, 128}, {128, 128, 1}});
}

TEST_CASE("configs that contradict themselves or are empty are errors") {
  using Problems = std::vector<std::string>;
  data::AugmentConfig config;
  CHECK(problems(config).empty());
  config.auto_augment.emplace();
  CHECK(problems(config) ==
        Problems{"augment.auto_augment.policies is empty, and policy is not set"});
  config.auto_augment->policy = data::AutoAugmentPolicy::v0;
  CHECK(problems(config).empty());
  config.auto_augment->policies = {{{Rotate, 0.5, 3.0}}, {}};
  CHECK(problems(config) == Problems{"augment.auto_augment.policy is set, and policies, too",
                                     "augment.auto_augment.policies[1] has no operation"});
  config.auto_augment->policy.reset();
  config.auto_augment->policies = {{{Invert, 0.5, {}}, {Rotate, 0.5, {}}}};
  CHECK(problems(config) ==
        Problems{"augment.auto_augment.policies[0][1].magnitude is not set, and Rotate needs it"});
  config.auto_augment->policies = {{{Rotate, 0.5, 11.0}}};
  CHECK(problems(config).size() == 1);
  config.auto_augment->policies = {{{Rotate, 1.5, 1.0}}};
  CHECK(problems(config).size() == 1);
  config.auto_augment->policies = {{{Rotate, 1, 1.0}}};
  config.rand_augment.emplace();
  CHECK(problems(config) == Problems{"augment.auto_augment is set, and rand_augment, too"});
}

TEST_CASE("unknown operations and policies are errors with what is near") {
  const auto refusal = [](const char* json) -> std::string {
    try {
      decode<data::AugmentConfig>(value_from_json(json, "test"), "augment");
      return "";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  CHECK(refusal(R"({"auto_augment": {"policy": "svhn"}})").empty());
  CHECK_THAT(refusal(R"({"auto_augment": {"policy": "cifar"}})"),
             Contains("augment.auto_augment.policy") && Contains("'cifar10'"));
  CHECK_THAT(refusal(R"({"auto_augment": {"policies": [[{"op": "Sheerx", "probability": 1}]]}})"),
             Contains("augment.auto_augment.policies[0][0].op") && Contains("'ShearX'"));
  CHECK_THAT(refusal(R"({"auto_augment": {"policies": [[{"op": "Invert"}]]}})"),
             Contains("augment.auto_augment.policies[0][0]: the required key 'probability'"));
}

TEST_CASE("inputs apply a policy to their bytes, the same in every run") {
  const data::SyntheticConfig config = input_config({.policy = data::AutoAugmentPolicy::v0});
  const auto made = [](const data::SyntheticConfig& of) {
    InputContext context{.phase = Phase::training, .name = "input"};
    return std::make_unique<data::SyntheticInput>(of, context);
  };
  CHECK(trivet::testing::check_input([&] { return made(config); }, 8,
                                     {.batches = 11, .resets = false}) == "");
  data::SyntheticConfig plain = config;
  plain.augment = {};
  CHECK(made(config)->get_next()->at("image").to_host<float>() !=
        made(plain)->get_next()->at("image").to_host<float>());
  data::SyntheticConfig two = input_config({.policies = {{{Contrast, 0.5, 3.0}}}});
  two.image_shape = {4, 4, 2};
  CHECK_THAT(complaint<data::SyntheticInput>(two),
             Contains("Contrast of augment.auto_augment needs images of 1 or 3 channels"));
  two.augment.auto_augment->policies = {{{Invert, 0.5, {}}}};
  CHECK(complaint<data::SyntheticInput>(two).empty());
}

}  // namespace auto_augment_test
