// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/geometric_operations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace trivet::data {
namespace {

// The source of (x, y) is (xx * x + xy * y + x0, yx * x + yy * y + y0).
struct Affine {
  double xx, xy, x0, yx, yy, y0;
};

// The pixels of a row that copy pixel [y, x] of `from`, or are filled.
template <int kChannels>
void transform(ImageBytes image, const Affine& map) {
  const std::vector<std::uint8_t> from(image.values.begin(), image.values.end());
  const auto channels = kChannels > 0 ? kChannels : image.channels;
  std::uint8_t* out = image.values.data();
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (std::int64_t row = 0; row < image.height; ++row) {
    const double y = static_cast<double>(row) + 0.5;
    const double x0 = map.xy * y + map.x0, y0 = map.yy * y + map.y0;
    for (std::int64_t column = 0; column < image.width; ++column, out += channels) {
      const double x = static_cast<double>(column) + 0.5;
      const double source_x = map.xx * x + x0, source_y = map.yx * x + y0;
      if (source_x >= 0 && source_x < width && source_y >= 0 && source_y < height) {
        const auto at =
            static_cast<std::int64_t>(source_y) * image.width + static_cast<std::int64_t>(source_x);
        std::copy_n(from.data() + at * channels, channels, out);
      } else {
        std::fill_n(out, channels, kFill);
      }
    }
  }
}

void transform(ImageBytes image, const Affine& map) {
  if (image.channels == 3) return transform<3>(image, map);
  if (image.channels == 1) return transform<1>(image, map);
  transform<0>(image, map);
}

}  // namespace

void rotate(ImageBytes image, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const double c = std::cos(angle), s = std::sin(angle);
  const double x = static_cast<double>(image.width) / 2, y = static_cast<double>(image.height) / 2;
  transform(image, {c, -s, x - c * x + s * y, s, c, y - s * x - c * y});
}

void shear_x(ImageBytes image, double slope) {
  transform(image, {1, slope, 0, 0, 1, 0});
}

void shear_y(ImageBytes image, double slope) {
  transform(image, {1, 0, 0, slope, 1, 0});
}

void translate_x(ImageBytes image, std::int64_t pixels) {
  transform(image, {1, 0, static_cast<double>(pixels), 0, 1, 0});
}

void translate_y(ImageBytes image, std::int64_t pixels) {
  transform(image, {1, 0, 0, 0, 1, static_cast<double>(pixels)});
}

void cutout(ImageBytes image, std::int64_t y, std::int64_t x, std::int64_t half) {
  const std::int64_t left = std::max<std::int64_t>(x - half, 0),
                     right = std::min(x + half, image.width);
  const std::int64_t bottom = std::min(y + half, image.height);
  for (std::int64_t row = std::max<std::int64_t>(y - half, 0); row < bottom; ++row) {
    std::fill_n(image.values.data() + (row * image.width + left) * image.channels,
                (right - left) * image.channels, kFill);
  }
}

}  // namespace trivet::data
