// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/draws.h"

#include <array>

namespace trivet::data {

double Draws::uniform() {
  std::array<std::uint32_t, 1> word{};
  random_bits(key_, next_++, word);
  return (static_cast<double>(word[0]) + 0.5) / 4294967296.0;
}

std::int64_t Draws::below(std::int64_t count) {
  return static_cast<std::int64_t>(uniform() * static_cast<double>(count));
}

double Draws::normal() {
  std::array<float, 1> number{};
  random_normal(key(), 0, 1, number);
  return static_cast<double>(number[0]);
}

}  // namespace trivet::data
