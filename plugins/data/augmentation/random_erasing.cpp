// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/random_erasing.h"

#include <algorithm>
#include <cmath>

namespace trivet::data {

RandomErasing::RandomErasing(const RandomErasingConfig& config, std::int64_t height,
                             std::int64_t width, std::int64_t channels)
    : config_(config), height_(height), width_(width), channels_(channels) {
  if (!config_.max_aspect) config_.max_aspect = 1 / config_.min_aspect;
}

void RandomErasing::apply(Draws draws, std::span<float> image) const {
  if (!draws.chance(config_.probability)) return;
  const std::int64_t count =
      config_.min_count + draws.below(config_.max_count - config_.min_count + 1);
  for (std::int64_t i = 0; i < count; ++i) erase(draws, image);
}

void RandomErasing::erase(Draws& draws, std::span<float> image) const {
  const auto all = static_cast<double>(height_ * width_);
  for (std::int64_t trial = 0; trial < config_.trials; ++trial) {
    const double area = all * draws.uniform(config_.min_area, config_.max_area);
    const double aspect =
        std::exp(draws.uniform(std::log(config_.min_aspect), std::log(*config_.max_aspect)));
    const double rows = std::round(std::sqrt(area * aspect)),
                 columns = std::round(std::sqrt(area / aspect));
    if (rows > static_cast<double>(height_) || columns > static_cast<double>(width_)) continue;
    const auto height = std::max<std::int64_t>(static_cast<std::int64_t>(rows), 1),
               width = std::max<std::int64_t>(static_cast<std::int64_t>(columns), 1);
    const std::int64_t top = draws.below(height_ - height + 1),
                       left = draws.below(width_ - width + 1);
    const RngKey noise = draws.key();
    const auto row_size = static_cast<std::size_t>(width * channels_);
    for (std::int64_t y = 0; y < height; ++y) {
      const auto row = image.subspan(
          static_cast<std::size_t>(((top + y) * width_ + left) * channels_), row_size);
      if (config_.fill == ErasingFill::zero) {
        std::ranges::fill(row, 0.0F);
      } else {
        random_normal(noise.fold(static_cast<std::uint64_t>(y)), 0, 1, row);
      }
    }
    return;
  }
}

}  // namespace trivet::data
