// SPDX-License-Identifier: Apache-2.0
// RandomStream: a sequence of random numbers from a key, with all bits of a double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trivet/tensor/random.h"

namespace trivet::search {

class RandomStream {
 public:
  explicit RandomStream(RngKey key) : key_(key.value()) {}

  double uniform();  // in [0, 1)
  double normal();   // Box-Muller
  // Returns an index with probability proportional to its weight. Weights must not be negative;
  // their sum must be positive.
  std::size_t weighted(std::span<const double> weights);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// The key of the random numbers that a sampler draws for a trial.
RngKey trial_key(std::int64_t seed, std::int64_t number);

}  // namespace trivet::search
