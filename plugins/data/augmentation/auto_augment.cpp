// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/auto_augment.h"

#include "data/augmentation/operation.h"
#include "data/augmentation/published_policies.h"

namespace trivet::data {

AutoAugment::AutoAugment(const AutoAugmentConfig& config, std::int64_t height, std::int64_t width)
    : sub_policies_(config.policy ? published_policy(*config.policy) : config.policies),
      reach_(config.translate_const, config.cutout_const, height, width) {}

std::vector<ImageOperation> AutoAugment::operations() const {
  std::vector<ImageOperation> operations;
  for (const auto& steps : sub_policies_) {
    for (const PolicyStepConfig& step : steps) operations.push_back(step.op);
  }
  return operations;
}

void AutoAugment::apply(Draws draws, ImageBytes image) const {
  const std::int64_t drawn = draws.below(std::ssize(sub_policies_));
  for (const PolicyStepConfig& step : sub_policies_[static_cast<std::size_t>(drawn)]) {
    if (!draws.chance(step.probability)) continue;
    apply_operation(step.op, step.magnitude.value_or(0), reach_, draws, image);
  }
}

}  // namespace trivet::data
