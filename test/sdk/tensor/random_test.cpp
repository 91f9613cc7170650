// SPDX-License-Identifier: Apache-2.0
// Random numbers: known answers, the same bits for any part, distributions, permutations.
#include "trivet/tensor/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <Random123/threefry.h>
#include <catch2/catch.hpp>

namespace trivet::test {

TEST_CASE("threefry matches the published answers of Random123", "[random]") {
  // kat_vectors of Random123, "threefry2x32 20": counter, key -> result, words low to high.
  const auto join = [](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
  CHECK(threefry(0, 0) == join(0x6b200159, 0x99ba4efe));
  CHECK(threefry(~std::uint64_t{0}, ~std::uint64_t{0}) == join(0x1cb996fc, 0xbb002be7));
  CHECK(threefry(join(0x13198a2e, 0x03707344), join(0x243f6a88, 0x85a308d3)) ==
        join(0xc4923a9c, 0x483df7a0));
}

TEST_CASE("threefry agrees with the Random123 headers", "[random]") {
  std::uint64_t key = 1, counter = 2;
  for (int i = 0; i < 1000; ++i) {
    const threefry2x32_ctr_t in = {
        {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32)}};
    const threefry2x32_key_t k = {
        {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
    const threefry2x32_ctr_t out = threefry2x32_R(20, in, k);
    REQUIRE(threefry(key, counter) == (out.v[0] | std::uint64_t{out.v[1]} << 32));
    key = key * 6364136223846793005U + 1;
    counter = counter * 2862933555777941757U + 3;
  }
}

TEST_CASE("any part of an array of bits can be drawn alone", "[random]") {
  std::vector<std::uint32_t> whole(100), part(37);
  random_bits(RngKey(5), 0, whole);
  for (const std::uint64_t offset : {0U, 1U, 6U, 63U}) {
    random_bits(RngKey(5), offset, part);
    CHECK(
        std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
}

TEST_CASE("any part of an array of numbers can be drawn alone", "[random]") {
  const auto check = [](auto draw) {
    std::vector<float> whole(100), part(37);
    draw(whole, 0);
    for (const std::uint64_t first : {0U, 1U, 6U, 63U}) {
      draw(part, first);
      CHECK(
          std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
    }
  };
  using Out = std::span<float>;
  const RngKey key(5);
  check([&](Out out, std::uint64_t first) { random_uniform(key, -1, 3, out, first); });
  check([&](Out out, std::uint64_t first) { random_normal(key, 1, 2, out, first); });
  check([&](Out out, std::uint64_t first) { random_truncated_normal(key, 0, 1, out, first); });
}

TEST_CASE("keys differ by every name and number folded in, and by their order", "[random]") {
  const RngKey key(0);
  const RngKey keys[] = {
      key,         key.fold("a"),         key.fold("b"),         key.fold(1),
      key.fold(2), key.fold("a").fold(1), key.fold(1).fold("a"), RngKey(1).fold("a")};
  for (const RngKey& a : keys) CHECK(std::count(std::begin(keys), std::end(keys), a) == 1);
  CHECK(key.fold("params/w") == RngKey(0).fold("params/w"));
}

TEST_CASE("uniform numbers fill [low, high)", "[random]") {
  std::vector<float> values(100000);
  random_uniform(RngKey(3), -1, 3, values);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK(*low >= -1);
  CHECK(*high < 3);
  double sum = 0;
  for (const float value : values) sum += value;
  // The standard error of the mean is 4 / sqrt(12 * 100000) = 0.0037.
  CHECK(sum / 100000 == Approx(1).margin(0.015));
  // So narrow an interval that rounding to float would reach its end.
  random_uniform(RngKey(3), 1, std::nextafter(1.0F, 2.0F), values);
  CHECK(*std::max_element(values.begin(), values.end()) == 1);
}

TEST_CASE("normal numbers are Box and Muller's, to the last bit of float", "[random]") {
  std::vector<float> values(2001);
  random_normal(RngKey(9), 0.5, 2, values);
  int different = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t words[2];
    random_bits(RngKey(9), i / 2 * 2, words);
    const double u = (words[0] + 0.5) / 4294967296.0, turn = 2 * M_PI * (words[1] / 4294967296.0);
    const double radius = std::sqrt(-2 * std::log(u));
    const auto want =
        static_cast<float>(0.5 + 2 * radius * (i % 2 == 0 ? std::cos(turn) : std::sin(turn)));
    REQUIRE(values[i] == Approx(want).epsilon(1e-6).margin(1e-7));
    different += values[i] != want ? 1 : 0;
  }
  // libm's doubles occasionally fall on the other side of a tie.
  CHECK(different <= 2);
}

TEST_CASE("normal numbers keep their bits from version to version", "[random]") {
  // Initial weights must be equal on every machine and in every later release. The values agree
  // with Box and Muller's formula on the blocks 0 to 2 of key 0, computed separately in Python.
  std::vector<float> values(6);
  random_normal(RngKey(0), 0, 1, values);
  const std::uint32_t bits[] = {0xbf8860bf, 0xbf477a81, 0x3d04b4ec,
                                0xbfc29977, 0x3fae1808, 0xbe0638f4};
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::bit_cast<std::uint32_t>(values[i]) == bits[i]);
  std::vector<float> truncated(6);
  random_truncated_normal(RngKey(0), 0, 1, truncated);
  CHECK(values == truncated);  // none of the six is beyond two standard deviations
}

TEST_CASE("normal numbers have mean, variance and tails of the distribution", "[random]") {
  std::vector<float> values(200000);
  random_normal(RngKey(11), 0, 1, values);
  double sum = 0, squares = 0, beyond = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
    beyond += std::abs(value) > 2 ? 1 : 0;
  }
  // Five standard errors: 1 / sqrt(n) for the mean, sqrt(2 / n) for the variance, and for the
  // share.
  CHECK(sum / 200000 == Approx(0).margin(0.0112));
  CHECK(squares / 200000 == Approx(1).margin(0.0158));
  CHECK(beyond / 200000 == Approx(0.0455).margin(0.0024));
}

TEST_CASE("truncated normal numbers stay within two standard deviations", "[random]") {
  std::vector<float> plain(50000), values(50000);
  random_normal(RngKey(11), 1, 0.5, plain);
  random_truncated_normal(RngKey(11), 1, 0.5, values);
  std::size_t redrawn = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(std::abs(values[i] - 1) <= 1.0F);
    redrawn += values[i] != plain[i] ? 1 : 0;
  }
  CHECK(static_cast<double>(redrawn) / 50000 == Approx(0.0455).margin(0.005));
}

TEST_CASE("a keyed permutation is one to one, for every size", "[random]") {
  std::vector<std::uint64_t> sizes{1000, 4095, 4096, 4097, 60000};
  for (std::uint64_t n = 1; n <= 130; ++n) sizes.push_back(n);
  for (const std::uint64_t n : sizes) {
    const Permutation permutation(RngKey(n), n);
    std::vector<bool> seen(n, false);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t position = permutation(i);
      REQUIRE(position < n);
      REQUIRE(!seen[position]);
      seen[position] = true;
    }
  }
}

TEST_CASE("permutations of different keys differ, and mix", "[random]") {
  const Permutation a(RngKey(1), 1000), b(RngKey(2), 1000);
  int equal = 0, stays = 0;
  double distance = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    equal += a(i) == b(i) ? 1 : 0;
    stays += a(i) == i ? 1 : 0;
    distance += std::abs(static_cast<double>(a(i)) - static_cast<double>(i));
  }
  CHECK(equal < 10);  // one is expected
  CHECK(stays < 10);
  CHECK(distance / 1000 == Approx(1000.0 / 3).epsilon(0.1));
  CHECK_THROWS_WITH(a(1000), Catch::Contains("outside a permutation of 1000"));
}

}  // namespace trivet::test
