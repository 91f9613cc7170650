// SPDX-License-Identifier: Apache-2.0
#include "data/images/augmenter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "trivet/error.h"

namespace trivet::data {
namespace {

// Uniform in [-reach, reach], up to a bias of 2^-32 * (2 reach + 1).
std::int64_t offset_of(std::uint32_t bits, std::int64_t reach) {
  const std::uint64_t choices = 2 * static_cast<std::uint64_t>(reach) + 1;
  return static_cast<std::int64_t>(bits * choices >> 32) - reach;
}

}  // namespace

Augmenter::Augmenter(const DatasetConfig& config, const Shape& example, const std::string& name)
    : padding_(config.augment.crop_padding),
      flip_(config.augment.horizontal_flip),
      key_(RngKey(static_cast<std::uint64_t>(config.seed)).fold("augment")) {
  if (!active()) return;
  if (example.rank() != 3) {
    throw InputError(name + ": augment needs images [height, width, channels], examples are " +
                     example.to_string());
  }
  height_ = example[0], width_ = example[1], channels_ = example[2];
  if (padding_ > std::min(height_, width_)) {
    throw InputError(name + ": augment.crop_padding = " + std::to_string(padding_) +
                     " is larger than the images, " + example.to_string());
  }
  for (std::int64_t i = 0; i < width_ * channels_; ++i) {
    const auto channel = static_cast<std::size_t>(i % channels_);
    const double mean = config.mean[config.mean.size() == 1 ? 0 : channel];
    const double std = config.std[config.std.size() == 1 ? 0 : channel];
    blank_.push_back(static_cast<float>((0 - mean) / std));
  }
}

void Augmenter::apply(std::int64_t epoch, std::int64_t example, std::span<const float> image,
                      std::span<float> out) const {
  std::array<std::uint32_t, 3> bits{};
  random_bits(
      key_.fold(static_cast<std::uint64_t>(epoch)).fold(static_cast<std::uint64_t>(example)), 0,
      bits);
  const std::int64_t down = offset_of(bits[0], padding_), right = offset_of(bits[1], padding_);
  const bool flip = flip_ && (bits[2] >> 31) != 0;
  const std::int64_t row_size = width_ * channels_;
  const std::int64_t kept = width_ - std::abs(right);
  // The kept columns of the image start at `from` and are written at `to`.
  const std::int64_t from = std::max<std::int64_t>(0, right),
                     to = std::max<std::int64_t>(0, -right);
  for (std::int64_t y = 0; y < height_; ++y) {
    float* row = out.data() + y * row_size;
    std::copy(blank_.begin(), blank_.end(), row);
    const std::int64_t source = y + down;
    if (source >= 0 && source < height_) {
      std::copy_n(image.data() + source * row_size + from * channels_, kept * channels_,
                  row + to * channels_);
    }
    for (std::int64_t x = 0; flip && x < width_ / 2; ++x) {
      std::swap_ranges(row + x * channels_, row + (x + 1) * channels_,
                       row + (width_ - 1 - x) * channels_);
    }
  }
}

}  // namespace trivet::data
