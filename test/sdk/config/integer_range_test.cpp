// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/integer_range.h"

#include <optional>

#include <catch2/catch.hpp>

#include "trivet/config.h"
#include "trivet/error.h"

namespace integer_range_test {

using namespace trivet;
using Catch::Contains;

namespace {

struct PlacesConfig {
  IntegerRange places = {2, 3};
  std::optional<IntegerRange> more;
};
TRIVET_CONFIG(PlacesConfig, trivet::NoBase, (places, "How many.", at_least(1), at_most(9)),
              (more, "How many more."))

PlacesConfig with(const Value& places) {
  return decode<PlacesConfig>(Value::table({{"places", places}}));
}

}  // namespace

TEST_CASE("a range is a number, or two with dots between them") {
  CHECK(parse_integer_range("1..8") == IntegerRange(1, 8));
  CHECK(parse_integer_range(" 1 .. 8 ") == IntegerRange(1, 8));
  CHECK(parse_integer_range("4") == IntegerRange(4));
  CHECK(parse_integer_range("8..1") == IntegerRange(8, 1));
  CHECK(parse_integer_range("-2..-1") == IntegerRange(-2, -1));
  for (const char* text : {"", "..", "1..", "..8", "1...8", "1..8..9", "1-8", "1:8", "one..8",
                           "1..8 x", "1.5..8", "1..99999999999999999999"}) {
    INFO(text);
    CHECK(parse_integer_range(text) == std::nullopt);
  }
  for (const char* text : {"1..8", "4", "8..1"}) {
    CHECK(to_string(*parse_integer_range(text)) == text);
  }
}

TEST_CASE("a range holds the numbers between its ends") {
  CHECK(IntegerRange(2, 4).contains(2));
  CHECK(IntegerRange(2, 4).contains(4));
  CHECK_FALSE(IntegerRange(2, 4).contains(5));
  CHECK_FALSE(IntegerRange(4, 2).contains(3));
  CHECK(IntegerRange(3).is_number());
  CHECK_FALSE(IntegerRange(3, 4).is_number());
}

TEST_CASE("a field of a range reads numbers and texts, and is written as the shorter of them") {
  CHECK(with(4).places == IntegerRange(4));
  CHECK(with("1..8").places == IntegerRange(1, 8));
  CHECK(encode(with("4")).at("places", "") == Value(4));
  CHECK(encode(with("1..8")).at("places", "") == Value("1..8"));
  CHECK(equal(decode<PlacesConfig>(encode(with("1..8"))), with("1..8")));
  const Field* places = schema_of<PlacesConfig>().find("places");
  REQUIRE(places != nullptr);
  CHECK(places->default_value == Value("2..3"));
  CHECK(to_string(places->type) == "range");
}

TEST_CASE("both ends of a range keep the bounds of its field") {
  CHECK_THROWS_WITH(with("0..3"), Contains("places") && Contains("must be in [1, 9]"));
  CHECK_THROWS_WITH(with("3..10"), Contains("must be in [1, 9]"));
  CHECK_THROWS_WITH(with("10..3"), Contains("must be in [1, 9]"));
  CHECK_THROWS_WITH(with(0), Contains("must be in [1, 9]"));
  CHECK_THROWS_WITH(with("few"), Contains("expected a whole number, or a range such as"));
  CHECK_THROWS_WITH(with(1.5), Contains("expected a whole number, or a range such as"));
}

}  // namespace integer_range_test
