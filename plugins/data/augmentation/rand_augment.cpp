// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/rand_augment.h"

#include <algorithm>

#include "data/augmentation/operation.h"

namespace trivet::data {

RandAugment::RandAugment(const RandAugmentConfig& config, std::int64_t height, std::int64_t width)
    : config_(config),
      operations_(config.operations()),
      reach_(config.translate_const, config.cutout_const, height, width) {}

void RandAugment::apply(Draws draws, ImageBytes image) const {
  for (std::int64_t layer = 0; layer < config_.num_layers; ++layer) {
    const auto drawn = static_cast<std::size_t>(draws.below(std::ssize(operations_) + 1));
    const bool applied = draws.chance(config_.prob_to_apply);
    double magnitude = config_.magnitude;
    if (config_.magnitude_std > 0) {
      magnitude = std::clamp(magnitude + config_.magnitude_std * draws.normal(), 0.0, 10.0);
    }
    if (!applied || drawn == operations_.size()) continue;
    apply_operation(operations_[drawn], magnitude, reach_, draws, image);
  }
}

}  // namespace trivet::data
