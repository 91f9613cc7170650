// SPDX-License-Identifier: Apache-2.0
// Random numbers of one image, one after the other. They depend on the key only.
#pragma once

#include <cstdint>

#include "trivet/tensor/random.h"

namespace trivet::data {

class Draws {
 public:
  explicit Draws(RngKey key) : key_(key) {}

  double uniform();  // in (0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::int64_t below(std::int64_t count);  // 0 to count - 1; count is at most 2^32
  bool chance(double probability) { return uniform() < probability; }
  double normal();  // of mean 0 and standard deviation 1

  // A key of its own for an array of numbers.
  RngKey key() { return key_.fold("array").fold(next_++); }

 private:
  RngKey key_;
  std::uint64_t next_ = 0;
};

}  // namespace trivet::data
