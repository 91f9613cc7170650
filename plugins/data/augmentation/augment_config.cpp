// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/augment_config.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "data/augmentation/operation.h"
#include "trivet/config/enums.h"
#include "trivet/config/schema.h"

namespace trivet::data {

void RandomResizedCropConfig::validate(Diagnostics& diagnostics) const {
  if (min_area > max_area) diagnostics.add("min_area", "is larger than max_area");
  if (min_aspect > max_aspect) diagnostics.add("min_aspect", "is larger than max_aspect");
}

void RandomErasingConfig::validate(Diagnostics& diagnostics) const {
  if (min_area > max_area) diagnostics.add("min_area", "is larger than max_area");
  if (min_aspect > max_aspect.value_or(1 / min_aspect)) {
    diagnostics.add("min_aspect",
                    max_aspect ? "is larger than max_aspect"
                               : "is larger than max_aspect, which is 1 / min_aspect",
                    max_aspect ? "" : "set max_aspect");
  }
  if (min_count > max_count) diagnostics.add("min_count", "is larger than max_count");
}

std::vector<ImageOperation> RandAugmentConfig::operations() const {
  std::vector<ImageOperation> operations;
  for (const std::string_view name : enum_names<ImageOperation>()) {
    const ImageOperation operation = *enum_from_name<ImageOperation>(name);
    if (std::ranges::find(exclude_ops, operation) == exclude_ops.end()) {
      operations.push_back(operation);
    }
  }
  return operations;
}

void RandAugmentConfig::validate(Diagnostics& diagnostics) const {
  if (operations().empty()) {
    diagnostics.add("exclude_ops", "excludes all operations",
                    "leave one of them, or remove rand_augment");
  }
}

void PolicyStepConfig::validate(Diagnostics& diagnostics) const {
  if (magnitude || !uses_magnitude(op)) return;
  diagnostics.add("magnitude", "is not set, and " + std::string(enum_name(op)) + " needs it",
                  "set it to a number from 0 to 10");
}

void AutoAugmentConfig::validate(Diagnostics& diagnostics) const {
  if (policy && !policies.empty()) {
    diagnostics.add("policy", "is set, and policies, too", "remove one of them");
  }
  if (!policy && policies.empty()) {
    diagnostics.add("policies", "is empty, and policy is not set",
                    "list sub-policies, or set policy to one of " +
                        std::string(enum_list<AutoAugmentPolicy>()));
  }
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (policies[i].empty()) {
      diagnostics.add("policies[" + std::to_string(i) + "]", "has no operation", "remove it");
    }
  }
}

void AugmentConfig::validate(Diagnostics& diagnostics) const {
  if (rand_augment && auto_augment) {
    diagnostics.add("auto_augment", "is set, and rand_augment, too", "remove one of them");
  }
}

}  // namespace trivet::data
