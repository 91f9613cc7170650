// SPDX-License-Identifier: Apache-2.0
// Keys, Threefry-2x32-20, bits and the keyed permutation: integers only. Normal numbers are in
// random_normal.cpp.
#include "trivet/tensor/random.h"

#include <bit>

#include "trivet/error.h"

namespace trivet {
namespace {

// Separate the keys made by name from those made by number, and both from the words an array is
// drawn from.
constexpr std::uint64_t kNameTag = 0x6e616d652f746167;
constexpr std::uint64_t kNumberTag = 0x6e756d2f74616773;

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::uint64_t threefry(std::uint64_t key, std::uint64_t counter) {
  // Rotations and the parity constant as in Salmon et al., "Parallel random numbers: as easy as 1,
  // 2, 3", 2011.
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t keys[3] = {k0, k1, 0x1BD11BDA ^ k0 ^ k1};
  std::uint32_t x0 = static_cast<std::uint32_t>(counter) + k0;
  std::uint32_t x1 = static_cast<std::uint32_t>(counter >> 32) + k1;
  for (std::uint32_t group = 0; group < 5; ++group) {
    for (int i = 0; i < 4; ++i) {
      x0 += x1;
      x1 = std::rotl(x1, kRotations[(group % 2) * 4 + static_cast<unsigned>(i)]) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return x0 | static_cast<std::uint64_t>(x1) << 32;
}

RngKey RngKey::fold(std::string_view name) const {
  return RngKey(threefry(value_ ^ kNameTag, hash_of(name)));
}

RngKey RngKey::fold(std::uint64_t number) const {
  return RngKey(threefry(value_ ^ kNumberTag, number));
}

void random_bits(RngKey key, std::uint64_t offset, std::span<std::uint32_t> out) {
  std::uint64_t block = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint64_t element = offset + i;
    if (i == 0 || element % 2 == 0) block = threefry(key.value(), element / 2);
    out[i] = static_cast<std::uint32_t>(element % 2 == 0 ? block : block >> 32);
  }
}

Permutation::Permutation(RngKey key, std::uint64_t n) : key_(key.value()), n_(n), half_bits_(0) {
  if (n > std::uint64_t{1} << 62) throw Error("a permutation has at most 2^62 elements");
  while ((std::uint64_t{1} << (2 * half_bits_)) < n) ++half_bits_;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  if (index >= n_) {
    throw Error("index " + std::to_string(index) + " is outside a permutation of " +
                std::to_string(n_));
  }
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  // Walking along the cycle until it enters [0, n) keeps the map one to one.
  do {
    std::uint64_t left = index >> half_bits_, right = index & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      std::uint64_t mixed = left ^ (threefry(key_, round << 32 | right) & mask);
      left = right;
      right = mixed;
    }
    index = left << half_bits_ | right;
  } while (index >= n_);
  return index;
}

}  // namespace trivet
