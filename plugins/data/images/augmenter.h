// SPDX-License-Identifier: Apache-2.0
// Random crops and flips of training images.
//
// An example's crop and flip depend only on the input's seed, the epoch and the example, so a
// resumed run and hosts that share the data see the same images.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/images/image_config.h"
#include "trivet/tensor/random.h"
#include "trivet/tensor/shape.h"

namespace trivet::data {

class Augmenter {
 public:
  // Throws InputError with `name` if augmentation is on and the examples are not images [height,
  // width, channels].
  Augmenter(const DatasetConfig& config, const Shape& example, const std::string& name);

  bool active() const { return padding_ > 0 || flip_; }

  // Writes the augmented `image` (normalized) to `out`. The two must not overlap.
  void apply(std::int64_t epoch, std::int64_t example, std::span<const float> image,
             std::span<float> out) const;

 private:
  std::int64_t padding_;
  bool flip_;
  RngKey key_;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
  std::vector<float> blank_;  // one row of the normalized value of 0
};

}  // namespace trivet::data
