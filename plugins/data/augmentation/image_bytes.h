// SPDX-License-Identifier: Apache-2.0
// An image of bytes that operations change in place.
#pragma once

#include <cstdint>
#include <span>

namespace trivet::data {

struct ImageBytes {
  std::int64_t height = 0, width = 0, channels = 0;
  std::span<std::uint8_t> values;  // [height, width, channels], row-major
};

}  // namespace trivet::data
