// SPDX-License-Identifier: Apache-2.0
// Mixes training images and their labels in pairs: mixup (Zhang et al. 2018) and CutMix (Yun et al.
// 2019), by the names of Model Garden's MixupAndCutmix.
//
//   mixup    l x + (1 - l) x', and the same of the labels; l from Beta(alpha, alpha)
//   CutMix   x with a rectangle of 1 - l of its area, clipped at the border, from x'; the labels by
//            the areas that both have then
//
// An example's partner, l and rectangle depend only on the input's seed, the epoch and the example,
// not on the other examples of the batch: a resumed run and hosts that share the data see the same
// images.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/images/image_config.h"
#include "trivet/tensor/random.h"
#include "trivet/tensor/shape.h"

namespace trivet::data {

class Mixer {
 public:
  // Throws InputError with `name` if mixing is on and the examples are not images [height, width,
  // channels].
  Mixer(const DatasetConfig& config, const Shape& example, std::int64_t examples,
        const std::string& name);

  bool active() const { return mixup_alpha_ > 0 || cutmix_alpha_ > 0; }

  struct Mix {
    std::int64_t partner = 0;
    double own_share = 1;  // of the label
    bool cut = false;      // the rectangle replaces, otherwise all pixels are mixed
    std::int64_t top = 0, left = 0, bottom = 0, right = 0;  // up to bottom and right, exclusive
  };
  // Nothing where the example stays as it is.
  std::optional<Mix> mix_of(std::int64_t epoch, std::int64_t example) const;

  void apply(const Mix& mix, std::span<const float> partner, std::span<float> image) const;

 private:
  void place_rectangle(Mix& mix, std::span<const std::uint32_t, 2> bits) const;

  double mixup_alpha_, cutmix_alpha_, prob_, switch_prob_;
  std::int64_t examples_;
  RngKey key_;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
};

}  // namespace trivet::data
