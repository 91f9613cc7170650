// SPDX-License-Identifier: Apache-2.0
#include "data/images/mixer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "trivet/error.h"

namespace trivet::data {
namespace {

// In (0, 1).
double uniform(std::uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) / 4294967296.0;
}

// The logarithm of a number from Gamma(alpha, 1): Marsaglia and Tsang 2000, with their step for
// alpha < 1. A logarithm, because with a small alpha most numbers are below the smallest double.
double log_gamma_sample(RngKey key, double alpha) {
  const double d = alpha + 1 - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint64_t attempt = 0;; ++attempt) {
    std::array<float, 1> normal{};
    std::array<std::uint32_t, 2> bits{};
    random_normal(key.fold("normal").fold(attempt), 0, 1, normal);
    random_bits(key.fold("uniform").fold(attempt), 0, bits);
    const auto x = static_cast<double>(normal[0]);
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0 || std::log(uniform(bits[0])) >= x * x / 2 + d - d * v + d * std::log(v)) continue;
    return std::log(d * v) + std::log(uniform(bits[1])) / alpha;
  }
}

double beta_sample(RngKey key, double alpha) {
  const double x = log_gamma_sample(key.fold("x"), alpha),
               y = log_gamma_sample(key.fold("y"), alpha);
  return 1 / (1 + std::exp(y - x));
}

}  // namespace

Mixer::Mixer(const DatasetConfig& config, const Shape& example, std::int64_t examples,
             const std::string& name)
    : mixup_alpha_(config.augment.mixup_alpha),
      cutmix_alpha_(config.augment.cutmix_alpha),
      prob_(config.augment.prob),
      switch_prob_(config.augment.switch_prob),
      examples_(examples),
      key_(RngKey(static_cast<std::uint64_t>(config.seed)).fold("mix")) {
  if (!active()) return;
  if (example.rank() != 3) {
    throw InputError(name + ": augment needs images [height, width, channels], examples are " +
                     example.to_string());
  }
  height_ = example[0], width_ = example[1], channels_ = example[2];
}

std::optional<Mixer::Mix> Mixer::mix_of(std::int64_t epoch, std::int64_t example) const {
  const RngKey key =
      key_.fold(static_cast<std::uint64_t>(epoch)).fold(static_cast<std::uint64_t>(example));
  std::array<std::uint32_t, 5> bits{};
  random_bits(key, 0, bits);
  if (uniform(bits[0]) >= prob_) return std::nullopt;
  Mix mix;
  mix.partner = static_cast<std::int64_t>(uniform(bits[1]) * static_cast<double>(examples_));
  const bool both = mixup_alpha_ > 0 && cutmix_alpha_ > 0;
  mix.cut = both ? uniform(bits[2]) < switch_prob_ : cutmix_alpha_ > 0;
  mix.own_share = beta_sample(key, mix.cut ? cutmix_alpha_ : mixup_alpha_);
  if (mix.cut) place_rectangle(mix, std::span(bits).last<2>());
  return mix;
}

void Mixer::place_rectangle(Mix& mix, std::span<const std::uint32_t, 2> bits) const {
  const double side = std::sqrt(1 - mix.own_share);
  const auto range = [side](std::uint32_t word, std::int64_t extent, std::int64_t& begin,
                            std::int64_t& end) {
    const auto center = static_cast<std::int64_t>(uniform(word) * static_cast<double>(extent));
    const auto half = static_cast<std::int64_t>(side * static_cast<double>(extent)) / 2;
    begin = std::max<std::int64_t>(center - half, 0);
    end = std::min(center + half, extent);
  };
  range(bits[0], height_, mix.top, mix.bottom);
  range(bits[1], width_, mix.left, mix.right);
  const auto cut = static_cast<double>((mix.bottom - mix.top) * (mix.right - mix.left));
  mix.own_share = 1 - cut / static_cast<double>(height_ * width_);
}

void Mixer::apply(const Mix& mix, std::span<const float> partner, std::span<float> image) const {
  if (!mix.cut) {
    const auto own = static_cast<float>(mix.own_share);
    for (std::size_t i = 0; i < image.size(); ++i) {
      image[i] = own * image[i] + (1 - own) * partner[i];
    }
    return;
  }
  for (std::int64_t y = mix.top; y < mix.bottom; ++y) {
    const std::int64_t first = (y * width_ + mix.left) * channels_;
    std::copy_n(partner.data() + first, (mix.right - mix.left) * channels_, image.data() + first);
  }
}

}  // namespace trivet::data
