// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/augment_config.h"

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

}  // namespace trivet::data
