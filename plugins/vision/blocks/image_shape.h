// SPDX-License-Identifier: Apache-2.0
// Checks the image shape that models of this plugin are configured for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::vision {

// Adds a diagnostic unless `shape` is {height, width, channels}, all positive.
void check_image_shape(Diagnostics& diagnostics, const std::vector<std::int64_t>& shape);

// Returns batch["image"]. Throws Error, naming the model, unless it is [B, height, width,
// channels].
const Tensor& expected_image(const std::string& model, const Batch& batch,
                             const std::vector<std::int64_t>& shape);

}  // namespace trivet::vision
