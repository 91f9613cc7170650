// SPDX-License-Identifier: Apache-2.0
// The policies of AutoAugment (Cubuk et al. 2018), by the data that they were found on. Magnitudes
// of operations that use none are those of the paper.
#pragma once

#include <vector>

#include "data/augmentation/augment_config.h"

namespace trivet::data {

// v0 is that of the authors' code, which Model Garden uses for ImageNet. The others are the paper's
// tables: Model Garden's reduced_imagenet, reduced_cifar10 and svhn.
std::vector<std::vector<PolicyStepConfig>> published_policy(AutoAugmentPolicy policy);

}  // namespace trivet::data
