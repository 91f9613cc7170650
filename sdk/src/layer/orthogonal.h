// SPDX-License-Identifier: Apache-2.0
// Starting values that are orthogonal matrices.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trivet/layer/initializer.h"

namespace trivet {

// Throws Error where `method` makes orthogonal matrices and the shape holds none; `what` precedes
// the shape in the message. Needs no memory, so it finds mistakes before a model is built.
void check_orthogonal(Init method, std::string_view what, const Shape& shape, std::int64_t fan_in);

// Does Init::orthogonal and Init::delta_orthogonal.
void fill_orthogonal(const InitConfig& init, RngKey key, const Shape& shape, std::int64_t fan_in,
                     std::span<float> out);

}  // namespace trivet
