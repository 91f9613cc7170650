// SPDX-License-Identifier: Apache-2.0
#include "search/math/random_stream.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace trivet::search {

double RandomStream::uniform() {
  return static_cast<double>(threefry(key_, counter_++) >> 11) * 0x1p-53;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::size_t RandomStream::weighted(std::span<const double> weights) {
  double rest = uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    rest -= weights[i];
    if (rest < 0) return i;
  }
  return weights.size() - 1;
}

RngKey trial_key(std::int64_t seed, std::int64_t number) {
  return RngKey(static_cast<std::uint64_t>(seed))
      .fold("trial")
      .fold(static_cast<std::uint64_t>(number));
}

}  // namespace trivet::search
