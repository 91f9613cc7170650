// SPDX-License-Identifier: Apache-2.0
#include "data/images/augmenter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "data/augmentation/operation.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// Uniform in [-reach, reach], up to a bias of 2^-32 * (2 reach + 1).
std::int64_t offset_of(std::uint32_t bits, std::int64_t reach) {
  const std::uint64_t choices = 2 * static_cast<std::uint64_t>(reach) + 1;
  return static_cast<std::int64_t>(bits * choices >> 32) - reach;
}

bool is_on(const AugmentConfig& config) {
  return config.random_resized_crop || config.crop_padding > 0 || config.horizontal_flip ||
         config.random_erasing || config.rand_augment || config.auto_augment ||
         ColorJitter(config.color_jitter).active();
}

bool has_gray(std::int64_t channels) {
  return channels == 1 || channels == 3;
}

void check_jitter(const ColorJitterConfig& jitter, const Shape& example, const std::string& name) {
  if (example[2] == 1 && jitter.saturation > 0) {
    throw InputError(name + ": augment.color_jitter.saturation has no effect on images of one " +
                         "channel, " + example.to_string(),
                     {.hint = "set it to 0"});
  }
  if (!has_gray(example[2]) && (jitter.contrast > 0 || jitter.saturation > 0)) {
    throw InputError(name + ": contrast and saturation of augment.color_jitter need images of 1 " +
                         "or 3 channels, examples are " + example.to_string(),
                     {.hint = "set both to 0"});
  }
}

// `field` and `hint` are about the config that `operations` are from.
void check_operations(const std::vector<ImageOperation>& operations, const Shape& example,
                      const std::string& name, const std::string& field, const std::string& hint) {
  const auto found = std::ranges::find_if(operations, needs_gray);
  if (found == operations.end() || has_gray(example[2])) return;
  throw InputError(name + ": " + std::string(enum_name(*found)) + " of " + field +
                       " needs images of 1 or 3 channels, examples are " + example.to_string(),
                   {.hint = hint});
}

}  // namespace

Augmenter::Augmenter(const DatasetConfig& config, const Shape& example, bool bytes,
                     const std::string& name)
    : padding_(config.augment.crop_padding),
      flip_(config.augment.horizontal_flip),
      crop_(config.augment.random_resized_crop),
      jitter_(config.augment.color_jitter),
      seed_(RngKey(static_cast<std::uint64_t>(config.seed))) {
  if (!is_on(config.augment)) return;
  if (example.rank() != 3) {
    throw InputError(name + ": augment needs images [height, width, channels], examples are " +
                     example.to_string());
  }
  height_ = example[0], width_ = example[1], channels_ = example[2];
  if (config.augment.rand_augment) {
    rand_augment_.emplace(*config.augment.rand_augment, height_, width_);
  }
  if (config.augment.auto_augment) {
    auto_augment_.emplace(*config.augment.auto_augment, height_, width_);
  }
  check(config, example, bytes, name);
  if (config.augment.random_erasing) {
    erasing_.emplace(*config.augment.random_erasing, height_, width_, channels_);
  }
  for (std::int64_t i = 0; i < width_ * channels_; ++i) {
    const auto channel = static_cast<std::size_t>(i % channels_);
    const double mean = config.mean[config.mean.size() == 1 ? 0 : channel];
    const double std = config.std[config.std.size() == 1 ? 0 : channel];
    blank_.push_back(static_cast<float>((0 - mean) / std));
  }
  blank_bytes_.resize(blank_.size());
}

void Augmenter::check(const DatasetConfig& config, const Shape& example, bool bytes,
                      const std::string& name) const {
  if (padding_ > std::min(height_, width_)) {
    throw InputError(name + ": augment.crop_padding = " + std::to_string(padding_) +
                     " is larger than the images, " + example.to_string());
  }
  if (!changes_bytes()) return;
  if (!bytes) {
    const std::string field = crop_              ? "augment.random_resized_crop"
                              : jitter_.active() ? "augment.color_jitter"
                              : rand_augment_    ? "augment.rand_augment"
                                                 : "augment.auto_augment";
    throw InputError(name + ": " + field + " changes images of bytes, and these have other numbers",
                     {.hint = "store the images as bytes, or remove " + field});
  }
  check_jitter(config.augment.color_jitter, example, name);
  if (rand_augment_) {
    check_operations(rand_augment_->operations(), example, name, "augment.rand_augment",
                     "add Color and Contrast to augment.rand_augment.exclude_ops");
  }
  if (auto_augment_) {
    check_operations(auto_augment_->operations(), example, name, "augment.auto_augment",
                     "list augment.auto_augment.policies without Color and Contrast");
  }
}

Crop Augmenter::crop(std::int64_t epoch, std::int64_t example, std::int64_t height,
                     std::int64_t width) const {
  return random_resized_crop(*crop_, draws("random_resized_crop", epoch, example), height, width);
}

void Augmenter::change_bytes(std::int64_t epoch, std::int64_t example,
                             std::span<const std::uint8_t> image,
                             std::span<std::uint8_t> out) const {
  move(epoch, example, blank_bytes_, image, out);
  const ImageBytes changed{height_, width_, channels_, out};
  if (jitter_.active()) jitter_.apply(draws("color_jitter", epoch, example), changed);
  if (rand_augment_) rand_augment_->apply(draws("rand_augment", epoch, example), changed);
  if (auto_augment_) auto_augment_->apply(draws("auto_augment", epoch, example), changed);
}

void Augmenter::change(std::int64_t epoch, std::int64_t example, std::span<const float> image,
                       std::span<float> out) const {
  move(epoch, example, blank_, image, out);
}

void Augmenter::erase(std::int64_t epoch, std::int64_t example, std::span<float> image) const {
  if (erasing_) erasing_->apply(draws("random_erasing", epoch, example), image);
}

Draws Augmenter::draws(std::string_view change, std::int64_t epoch, std::int64_t example) const {
  return Draws(seed_.fold(change)
                   .fold(static_cast<std::uint64_t>(epoch))
                   .fold(static_cast<std::uint64_t>(example)));
}

template <class T>
void Augmenter::move(std::int64_t epoch, std::int64_t example, const std::vector<T>& blank,
                     std::span<const T> image, std::span<T> out) const {
  std::array<std::uint32_t, 3> bits{};
  random_bits(seed_.fold("augment")
                  .fold(static_cast<std::uint64_t>(epoch))
                  .fold(static_cast<std::uint64_t>(example)),
              0, bits);
  const std::int64_t down = offset_of(bits[0], padding_), right = offset_of(bits[1], padding_);
  const bool flip = flip_ && (bits[2] >> 31) != 0;
  const std::int64_t row_size = width_ * channels_;
  const std::int64_t kept = width_ - std::abs(right);
  // The kept columns of the image start at `from` and are written at `to`.
  const std::int64_t from = std::max<std::int64_t>(0, right),
                     to = std::max<std::int64_t>(0, -right);
  for (std::int64_t y = 0; y < height_; ++y) {
    T* row = out.data() + y * row_size;
    std::copy(blank.begin(), blank.end(), row);
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
