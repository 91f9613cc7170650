// SPDX-License-Identifier: Apache-2.0
// Phase: what a part of a run is made for.
#pragma once

#include <cstdint>

namespace trivet {

enum class Phase : std::uint8_t {
  training,    // its batches and metrics belong to steps that update the weights
  evaluation,  // to steps that leave the weights as they are
};

}  // namespace trivet
