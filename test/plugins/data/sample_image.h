// SPDX-License-Identifier: Apache-2.0
// Images for tests of operations, and a number that tells two images apart.
#pragma once

#include <cstdint>
#include <vector>

#include "data/augmentation/image_bytes.h"

namespace trivet::test {

// An image that owns its bytes.
struct SampleImage {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> values;

  operator data::ImageBytes() { return {height, width, channels, values}; }
};

// Value [y, x, c] is `base` + (67 y + 41 x + 83 c + 29 y x) % (`range` + 20 c).
inline SampleImage sample_image(std::int64_t height, std::int64_t width, std::int64_t channels,
                                std::int64_t base = 40, std::int64_t range = 150) {
  SampleImage image{height, width, channels, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t value = (67 * y + 41 * x + 83 * c + 29 * y * x) % (range + 20 * c);
        image.values.push_back(static_cast<std::uint8_t>(base + value));
      }
    }
  }
  return image;
}

// FNV-1a of the bytes.
inline std::uint64_t hash_of(const std::vector<std::uint8_t>& values) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::uint8_t value : values) hash = (hash ^ value) * 1099511628211U;
  return hash;
}

}  // namespace trivet::test
