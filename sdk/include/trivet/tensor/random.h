// SPDX-License-Identifier: Apache-2.0
// Random numbers that are pure functions of a key: no generator state anywhere.
//
// A key is derived by folding names and numbers into it (seed, "params/encoder/w", step, ...).
// Element e of an array drawn with a key is word e % 2 of Threefry-2x32-20 (Salmon et al., SC 2011)
// with that key and counter e / 2, so any part of the array can be drawn alone and every backend
// gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API RngKey {
 public:
  explicit constexpr RngKey(std::uint64_t seed) : value_(seed) {}
  RngKey fold(std::string_view name) const;
  RngKey fold(std::uint64_t number) const;
  constexpr std::uint64_t value() const { return value_; }
  bool operator==(const RngKey&) const = default;

 private:
  std::uint64_t value_;
};

// One block of Threefry-2x32-20; `key` and `counter` hold {word 0 = low half, word 1 = high half},
// so does the result.
TRIVET_API std::uint64_t threefry(std::uint64_t key, std::uint64_t counter);

// Elements offset, offset + 1, ... of the key's array.
TRIVET_API void random_bits(RngKey key, std::uint64_t offset, std::span<std::uint32_t> out);
// The numbers of the key's array from element `first` on, in [low, high). The same for those below.
TRIVET_API void random_uniform(RngKey key, double low, double high, std::span<float> out,
                               std::uint64_t first = 0);
// Box-Muller on 32-bit uniforms in double with our own polynomials (no libm), so bits are equal on
// every machine.
TRIVET_API void random_normal(RngKey key, double mean, double stddev, std::span<float> out,
                              std::uint64_t first = 0);
// Normal, redrawn outside two standard deviations (as TensorFlow's truncated_normal; not rescaled).
TRIVET_API void random_truncated_normal(RngKey key, double mean, double stddev,
                                        std::span<float> out, std::uint64_t first = 0);

// A keyed permutation of [0, n): the position of `index` after shuffling. No buffer: a Feistel
// network on the index (4 rounds over the smallest even-bit domain >= n, cycle walking).
// [any-thread]
class TRIVET_API Permutation {
 public:
  Permutation(RngKey key, std::uint64_t n);
  std::uint64_t operator()(std::uint64_t index) const;  // index < n

 private:
  std::uint64_t key_, n_;
  unsigned half_bits_;
};

}  // namespace trivet
