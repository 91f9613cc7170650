// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/random_resized_crop.h"

#include <algorithm>
#include <cmath>

namespace trivet::data {
namespace {

std::int64_t rounded(double extent, std::int64_t most) {
  return std::clamp<std::int64_t>(std::llround(extent), 1, most);
}

Crop middle(std::int64_t height, std::int64_t width, std::int64_t rows, std::int64_t columns) {
  return {(height - rows + 1) / 2, (width - columns + 1) / 2, rows, columns};
}

}  // namespace

Crop random_resized_crop(const RandomResizedCropConfig& config, Draws draws, std::int64_t height,
                         std::int64_t width) {
  const auto rows = static_cast<double>(height), columns = static_cast<double>(width);
  for (std::int64_t trial = 0; trial < config.trials; ++trial) {
    const double area = rows * columns * draws.uniform(config.min_area, config.max_area);
    const double aspect =
        std::exp(draws.uniform(std::log(config.min_aspect), std::log(config.max_aspect)));
    const double wide = std::round(std::sqrt(area * aspect)),
                 high = std::round(std::sqrt(area / aspect));
    if (wide > columns || high > rows || wide < 1 || high < 1) continue;
    Crop crop{.height = static_cast<std::int64_t>(high), .width = static_cast<std::int64_t>(wide)};
    crop.top = draws.below(height - crop.height + 1);
    crop.left = draws.below(width - crop.width + 1);
    return crop;
  }
  const double aspect = std::clamp(columns / rows, config.min_aspect, config.max_aspect);
  if (columns / rows < aspect) {
    return middle(height, width, rounded(columns / aspect, height), width);
  }
  return middle(height, width, height, rounded(rows * aspect, width));
}

Crop center_crop(double fraction, std::int64_t height, std::int64_t width) {
  const std::int64_t shorter = std::min(height, width);
  const auto side = static_cast<std::int64_t>(fraction * static_cast<double>(shorter));
  const std::int64_t kept = std::max<std::int64_t>(side, 1);
  return middle(height, width, kept, kept);
}

}  // namespace trivet::data
