// SPDX-License-Identifier: Apache-2.0
// Random crops and flips of training images.
//
// What happens to an example is a function of the input's seed, the pass over the data and the
// example alone: a resumed run, and hosts that share the data, see the same images.
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
  // Throws InputError naming `name` when something is to be done to examples that are no images
  // [height, width, channels].
  Augmenter(const DatasetConfig& config, const Shape& example, const std::string& name);

  bool active() const { return padding_ > 0 || flip_; }

  // Writes what becomes of `image` (normalized) to `out`; they do not overlap.
  void apply(std::int64_t epoch, std::int64_t example, std::span<const float> image,
             std::span<float> out) const;

 private:
  std::int64_t padding_;
  bool flip_;
  RngKey key_;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
  std::vector<float> blank_;  // one row of what a value of 0 is normalized to
};

}  // namespace trivet::data
