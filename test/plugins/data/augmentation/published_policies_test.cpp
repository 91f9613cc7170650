// SPDX-License-Identifier: Apache-2.0
// The published policies of AutoAugment, against the tables of the paper and Model Garden's v0.
#include "data/augmentation/published_policies.h"

#include <tuple>

#include <catch2/catch.hpp>

namespace published_policies_test {

using namespace trivet;
using enum data::ImageOperation;

TEST_CASE("published policies have 25 sub-policies of the paper's probabilities and magnitudes") {
  using data::AutoAugmentPolicy;
  const auto step = [](AutoAugmentPolicy policy, std::size_t sub_policy, std::size_t at) {
    const data::PolicyStepConfig found = data::published_policy(policy).at(sub_policy).at(at);
    return std::tuple(found.op, found.probability, found.magnitude.value());
  };
  for (const AutoAugmentPolicy policy : {AutoAugmentPolicy::v0, AutoAugmentPolicy::imagenet,
                                         AutoAugmentPolicy::cifar10, AutoAugmentPolicy::svhn}) {
    const auto sub_policies = data::published_policy(policy);
    CHECK(sub_policies.size() == 25);
    for (const auto& sub_policy : sub_policies) {
      CHECK(sub_policy.size() == 2);
      for (const data::PolicyStepConfig& each : sub_policy) {
        CHECK((each.probability >= 0 && each.probability <= 1));
        CHECK((each.magnitude >= 0.0 && each.magnitude <= 9.0 + (each.op == Solarize ? 1 : 0)));
      }
    }
  }
  // The first and the last lines of the tables.
  CHECK(step(AutoAugmentPolicy::v0, 0, 1) == std::tuple(ShearY, 0.8, 4.0));
  CHECK(step(AutoAugmentPolicy::v0, 24, 0) == std::tuple(Color, 0.8, 6.0));
  CHECK(step(AutoAugmentPolicy::imagenet, 0, 0) == std::tuple(Posterize, 0.4, 8.0));
  CHECK(step(AutoAugmentPolicy::imagenet, 24, 1) == std::tuple(Equalize, 0.6, 3.0));
  CHECK(step(AutoAugmentPolicy::cifar10, 0, 1) == std::tuple(Contrast, 0.2, 6.0));
  CHECK(step(AutoAugmentPolicy::cifar10, 24, 0) == std::tuple(TranslateY, 0.7, 9.0));
  CHECK(step(AutoAugmentPolicy::svhn, 0, 0) == std::tuple(ShearX, 0.9, 4.0));
  CHECK(step(AutoAugmentPolicy::svhn, 24, 1) == std::tuple(Invert, 0.1, 5.0));
}

}  // namespace published_policies_test
