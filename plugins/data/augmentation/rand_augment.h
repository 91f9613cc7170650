// SPDX-License-Identifier: Apache-2.0
// RandAugment (Cubuk et al. 2019): some operations, drawn at random, one after the other. Each draw
// is uniform over the operations and one that changes nothing, as in Model Garden.
#pragma once

#include <cstdint>
#include <vector>

#include "data/augmentation/augment_config.h"
#include "data/augmentation/draws.h"
#include "data/augmentation/image_bytes.h"
#include "data/augmentation/operation_reach.h"

namespace trivet::data {

class RandAugment {
 public:
  // Of images of this size.
  RandAugment(const RandAugmentConfig& config, std::int64_t height, std::int64_t width);

  // Those that may be drawn.
  const std::vector<ImageOperation>& operations() const { return operations_; }
  void apply(Draws draws, ImageBytes image) const;

 private:
  RandAugmentConfig config_;
  std::vector<ImageOperation> operations_;
  OperationReach reach_;
};

}  // namespace trivet::data
