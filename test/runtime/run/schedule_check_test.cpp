// SPDX-License-Identifier: Apache-2.0
// Warnings about a learning rate that trains nothing.
#include "run/schedule_check.h"

#include <functional>

#include <catch2/catch.hpp>

namespace trivet::test::schedule_check {
namespace {

struct Rate final : Schedule {
  explicit Rate(std::function<double(std::int64_t)> given) : at(std::move(given)) {}
  double value(std::int64_t step) const override { return at(step); }
  std::function<double(std::int64_t)> at;
};

std::string warning(std::function<double(std::int64_t)> at, std::int64_t steps) {
  return schedule_warning(Rate(std::move(at)), steps);
}

}  // namespace

TEST_CASE("a learning rate that is 0 before the end, or only rises, is reported") {
  const auto falling = [](std::int64_t step) { return step < 500 ? 1.0 - 0.002 * step : 0.0; };
  CHECK(warning(falling, 500).empty());
  CHECK_THAT(
      warning(falling, 1500),
      Catch::StartsWith("the learning rate is 0 from step 500 on, but training ends at step 1500"));
  const auto warming = [](std::int64_t step) { return step < 20 ? 0.05 * step : 1.0; };
  CHECK(warning(warming, 100).empty());
  CHECK_THAT(warning(warming, 5), Catch::StartsWith("the learning rate still rises at the last"));
  CHECK_THAT(warning([](std::int64_t) { return 0.0; }, 3), Catch::Contains("0 from step 0 on"));
  CHECK(warning([](std::int64_t) { return 0.1; }, 1).empty());
}

}  // namespace trivet::test::schedule_check
