// SPDX-License-Identifier: Apache-2.0
// AutoAugment (Cubuk et al. 2018): one sub-policy of several is drawn for an image. Its operations
// are applied one after the other, each with its own probability and magnitude.
#pragma once

#include <cstdint>
#include <vector>

#include "data/augmentation/augment_config.h"
#include "data/augmentation/draws.h"
#include "data/augmentation/image_bytes.h"
#include "data/augmentation/operation_reach.h"

namespace trivet::data {

class AutoAugment {
 public:
  // Of images of this size.
  AutoAugment(const AutoAugmentConfig& config, std::int64_t height, std::int64_t width);

  // Those of all sub-policies, as often as they are there.
  std::vector<ImageOperation> operations() const;
  void apply(Draws draws, ImageBytes image) const;

 private:
  std::vector<std::vector<PolicyStepConfig>> sub_policies_;
  OperationReach reach_;
};

}  // namespace trivet::data
