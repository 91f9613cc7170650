// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG files of given pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trivet::test {

struct ImageSize {
  int height = 0, width = 0, channels = 1;  // 1 gray, 3 RGB; for PNG also 2 and 4, with alpha
};

// Pixels row-major. JPEG without subsampling of colors, quality 1 to 100.
std::string jpeg_file(std::span<const std::uint8_t> pixels, const ImageSize& size,
                      int quality = 95);
// `bits` of each channel: 8, or 16 with two bytes a value, high byte first.
std::string png_file(std::span<const std::uint8_t> pixels, const ImageSize& size, int bits = 8);

}  // namespace trivet::test
