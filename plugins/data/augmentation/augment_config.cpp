// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/augment_config.h"

#include <algorithm>
#include <string_view>

#include "trivet/config/enums.h"
#include "trivet/config/schema.h"

namespace trivet::data {

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

}  // namespace trivet::data
