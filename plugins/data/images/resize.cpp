// SPDX-License-Identifier: Apache-2.0
#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trivet::data {
namespace {

// The two pixels along an axis that a pixel is made of.
struct Tap {
  std::int64_t low, high;
  double share;  // of high
};

// For `to` pixels made of the `from` ones after `begin`.
std::vector<Tap> taps_of(std::int64_t begin, std::int64_t from, std::int64_t to) {
  std::vector<Tap> taps;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double position = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto low = std::min(static_cast<std::int64_t>(position), from - 1);
    taps.push_back(
        {begin + low, begin + std::min(low + 1, from - 1), position - static_cast<double>(low)});
  }
  return taps;
}

}  // namespace

Pixels resized(const Pixels& image, const Crop& part, std::int64_t height, std::int64_t width) {
  const std::vector<Tap> rows = taps_of(part.top, part.height, height),
                         columns = taps_of(part.left, part.width, width);
  Pixels out{height, width, image.channels, {}};
  out.values.reserve(static_cast<std::size_t>(height * width * image.channels));
  const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    return static_cast<double>(
        image.values[static_cast<std::size_t>((y * image.width + x) * image.channels + c)]);
  };
  for (const Tap& row : rows) {
    for (const Tap& column : columns) {
      for (std::int64_t c = 0; c < image.channels; ++c) {
        const auto along = [&](std::int64_t y) {
          return (1 - column.share) * at(y, column.low, c) + column.share * at(y, column.high, c);
        };
        const double value = (1 - row.share) * along(row.low) + row.share * along(row.high);
        out.values.push_back(static_cast<std::uint8_t>(std::lround(value)));
      }
    }
  }
  return out;
}

Pixels resized(const Pixels& image, std::int64_t height, std::int64_t width) {
  if (height == image.height && width == image.width) return image;
  return resized(image, {0, 0, image.height, image.width}, height, width);
}

}  // namespace trivet::data
