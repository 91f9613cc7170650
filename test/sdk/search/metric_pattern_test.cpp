// SPDX-License-Identifier: Apache-2.0
// One number of several metrics.
#include "trivet/search/metric_pattern.h"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

using namespace trivet::search;

TEST_CASE("a star of a metric's pattern fits text without a slash") {
  CHECK(fits_pattern("test/accuracy", "*/accuracy"));
  CHECK(fits_pattern("/accuracy", "*/accuracy"));
  CHECK(fits_pattern("accuracy", "acc*"));
  CHECK(fits_pattern("acc", "acc*"));
  CHECK(fits_pattern("aXabab", "*ab"));
  CHECK(fits_pattern("a1/b2", "a*/b*"));
  CHECK(fits_pattern("accuracy", "accuracy"));
  CHECK_FALSE(fits_pattern("a/b/accuracy", "*/accuracy"));
  CHECK_FALSE(fits_pattern("accuracy", "*/accuracy"));
  CHECK_FALSE(fits_pattern("test/accuracy", "*accuracy"));
  CHECK_FALSE(fits_pattern("test/accuracy5", "*/accuracy"));
  CHECK_FALSE(fits_pattern("Test/accuracy", "test/*y2"));
  CHECK_FALSE(fits_pattern("", "a"));
}

TEST_CASE("a pattern has an aggregate and a star") {
  const auto found = parse_metric_pattern("max(eval/*/accuracy)");
  REQUIRE(found);
  CHECK(found->aggregate == Aggregate::max);
  CHECK(found->pattern == "eval/*/accuracy");
  for (const char* name :
       {"accuracy", "*/accuracy", "mean(accuracy)", "median(*)", "mean(*", "(*)"}) {
    INFO(name);
    CHECK_FALSE(parse_metric_pattern(name));
  }
}

TEST_CASE("aggregates of numbers") {
  const std::vector<double> numbers = {3, -1, 4};
  CHECK(aggregate_of(Aggregate::mean, numbers) == 2);
  CHECK(aggregate_of(Aggregate::max, numbers) == 4);
  CHECK(aggregate_of(Aggregate::min, numbers) == -1);
  CHECK(aggregate_of(Aggregate::sum, numbers) == 6);
  for (const Aggregate each : {Aggregate::mean, Aggregate::max, Aggregate::min, Aggregate::sum}) {
    CHECK(std::isnan(aggregate_of(each, std::vector<double>{1, NAN, 2})));
    CHECK(std::isnan(aggregate_of(each, std::vector<double>{1, INFINITY, 2})));
  }
}
