// SPDX-License-Identifier: Apache-2.0
// Initial values: their distributions against the published bounds and deviations.
#include "trivet/layer/initializer.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace {

using trivet::Init;
using trivet::RngKey;
using trivet::Shape;

std::vector<float> drawn(Init method, double scale, const Shape& shape, std::int64_t fan_in = 0,
                         std::int64_t fan_out = 0) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  trivet::initialize({method, scale}, RngKey(3), shape, fan_in, fan_out, values);
  return values;
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("a constant start is that constant everywhere") {
  const std::vector<float> values = drawn(Init::constant, 0.25, {3, 5});
  CHECK(values == std::vector<float>(15, 0.25f));
}

TEST_CASE("uniform starts fill their published bounds") {
  // 60,000 draws: the largest lies within 0.1 % of the bound except with probability e^-60.
  const Shape shape{200, 300};
  const auto [method, bound] = GENERATE(table<Init, double>({
      {Init::uniform, 1.0},
      {Init::xavier_uniform, std::sqrt(6.0 / 500)},
      {Init::he_uniform, std::sqrt(6.0 / 200)},
      {Init::lecun_uniform, std::sqrt(3.0 / 200)},
      {Init::fan_in_uniform, 1 / std::sqrt(200.0)},
  }));
  const std::vector<float> values = drawn(method, 1, shape);
  CHECK(largest(values) <= bound);
  CHECK(largest(values) > 0.999 * bound);
  CHECK(std::abs(mean(values)) < 0.02 * bound);
  CHECK(deviation(values) == Approx(bound / std::sqrt(3.0)).epsilon(0.02));
}

TEST_CASE("normal starts have their published deviations") {
  // The deviation of 60,000 draws is off by 0.3 % on average; 2 % is seven times that.
  const Shape shape{200, 300};
  const auto [method, stddev] = GENERATE(table<Init, double>({
      {Init::normal, 1.0},
      {Init::xavier_normal, std::sqrt(2.0 / 500)},
      {Init::he_normal, std::sqrt(2.0 / 200)},
      {Init::lecun_normal, std::sqrt(1.0 / 200)},
  }));
  const std::vector<float> values = drawn(method, 1, shape);
  CHECK(std::abs(mean(values)) < 0.03 * stddev);
  CHECK(deviation(values) == Approx(stddev).epsilon(0.02));
  CHECK(largest(values) > 3 * stddev);
}

TEST_CASE("a truncated normal start stays within two deviations") {
  const std::vector<float> values = drawn(Init::truncated_normal, 0.5, {200, 300});
  CHECK(largest(values) <= 1.0);
  // Deviation of a normal cut at 2: 0.8796 (Johnson, Kotz, Balakrishnan 1994, 13.10.1).
  CHECK(deviation(values) == Approx(0.5 * 0.8796).epsilon(0.02));
}

TEST_CASE("fans of filters count the receptive field, and explicit fans win") {
  // [3, 3, 16, 32]: fan_in 9 * 16, fan_out 9 * 32.
  const Shape filters{3, 3, 16, 32};
  CHECK(largest(drawn(Init::xavier_uniform, 1, filters)) ==
        Approx(std::sqrt(6.0 / (9 * 48))).epsilon(0.01));
  CHECK(largest(drawn(Init::xavier_uniform, 1, filters, 3, 9)) ==
        Approx(std::sqrt(6.0 / 12)).epsilon(0.01));
  CHECK(largest(drawn(Init::he_uniform, 2, {4096})) ==
        Approx(2 * std::sqrt(6.0 / 4096)).epsilon(0.01));
}

TEST_CASE("an unresolved layer_default is an error") {
  CHECK_THROWS_AS(drawn(Init::layer_default, 1, {2}), trivet::Error);
}

TEST_CASE("no values are drawn for an empty shape") {
  CHECK(drawn(Init::xavier_uniform, 1, {0, 4}).empty());
}
