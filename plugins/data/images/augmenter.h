// SPDX-License-Identifier: Apache-2.0
// Random changes of training images, in the order of augment_config.h. Mixing is the Mixer's.
//
// The changes of an example depend only on the input's seed, the epoch and the example, so a
// resumed run and hosts that share the data see the same images.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/augmentation/auto_augment.h"
#include "data/augmentation/color_jitter.h"
#include "data/augmentation/draws.h"
#include "data/augmentation/image_bytes.h"
#include "data/augmentation/rand_augment.h"
#include "data/augmentation/random_erasing.h"
#include "data/augmentation/random_resized_crop.h"
#include "data/images/image_config.h"
#include "trivet/tensor/random.h"
#include "trivet/tensor/shape.h"

namespace trivet::data {

class Augmenter {
 public:
  // `bytes` says whether the examples are bytes before they are normalized. Throws InputError with
  // `name` if augmentation is on and the examples are not images [height, width, channels], or not
  // those that a change needs.
  Augmenter(const DatasetConfig& config, const Shape& example, bool bytes, const std::string& name);

  bool active() const { return moves() || changes_bytes() || erasing_; }
  // Whether images are to be changed as bytes, with change_bytes() instead of change().
  bool changes_bytes() const { return crop_ || jitter_.active() || rand_augment_ || auto_augment_; }
  // Whether change_bytes() gets the part of the image that crop() chooses, instead of all of it.
  bool crops() const { return crop_.has_value(); }
  Crop crop(std::int64_t epoch, std::int64_t example, std::int64_t height,
            std::int64_t width) const;

  // Writes the changed `image` to `out`. The two must not overlap. change() takes normalized
  // images.
  void change_bytes(std::int64_t epoch, std::int64_t example, std::span<const std::uint8_t> image,
                    std::span<std::uint8_t> out) const;
  void change(std::int64_t epoch, std::int64_t example, std::span<const float> image,
              std::span<float> out) const;
  // Replaces rectangles of a normalized image, if random erasing is on.
  void erase(std::int64_t epoch, std::int64_t example, std::span<float> image) const;

 private:
  bool moves() const { return padding_ > 0 || flip_; }
  void check(const DatasetConfig& config, const Shape& example, bool bytes,
             const std::string& name) const;
  Draws draws(std::string_view change, std::int64_t epoch, std::int64_t example) const;
  // Crops and mirrors. `blank` is one row of the value of 0.
  template <class T>
  void move(std::int64_t epoch, std::int64_t example, const std::vector<T>& blank,
            std::span<const T> image, std::span<T> out) const;

  std::int64_t padding_;
  bool flip_;
  std::optional<RandomResizedCropConfig> crop_;
  ColorJitter jitter_;
  std::optional<RandAugment> rand_augment_;
  std::optional<AutoAugment> auto_augment_;
  std::optional<RandomErasing> erasing_;
  RngKey seed_;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
  std::vector<float> blank_;               // one row of the normalized value of 0
  std::vector<std::uint8_t> blank_bytes_;  // one row of 0
};

}  // namespace trivet::data
