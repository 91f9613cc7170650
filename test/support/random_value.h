// SPDX-License-Identifier: Apache-2.0
// Random configs from a seed, for property tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "trivet/config/value.h"

namespace trivet::test {

// Makes tables with every type of value: strange keys and strings, numbers at the ends of their
// ranges, empty and nested tables and arrays. The same seed gives the same values everywhere.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : bits_(seed) {}

  Value table(int depth = 4);
  Value value(int depth);
  std::string text();
  std::uint64_t below(std::uint64_t limit) { return bits_() % limit; }

 private:
  double number();

  std::mt19937_64 bits_;
};

}  // namespace trivet::test
