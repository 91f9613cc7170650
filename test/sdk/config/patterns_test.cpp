// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/patterns.h"

#include <catch2/catch.hpp>

#include "trivet/error.h"

using trivet::Patterns;

TEST_CASE("patterns match whole names or are found in a part") {
  const Patterns patterns({"head/.*", "norm"});
  CHECK(patterns.matches("head/w"));
  CHECK(patterns.matches("norm"));
  CHECK_FALSE(patterns.matches("overhead/w"));
  CHECK_FALSE(patterns.matches("norm/scale"));
  CHECK(patterns.found_in("overhead/w"));
  CHECK(patterns.found_in("body/norm/scale"));
  CHECK_FALSE(patterns.found_in("body/w"));
}

TEST_CASE("no patterns match nothing") {
  const Patterns none({});
  CHECK(none.empty());
  CHECK_FALSE(none.matches(""));
  CHECK_FALSE(none.found_in("a"));
}

TEST_CASE("an invalid pattern is reported with its field") {
  CHECK_THROWS_WITH(Patterns({"(open"}), Catch::Contains("'(open'"));
  trivet::Diagnostics diagnostics;
  trivet::check_patterns(diagnostics, "frozen", {"fine.*", "(open"});
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "frozen");
  CHECK_THAT(diagnostics.list()[0].what, Catch::Contains("'(open' is not a regular expression"));
}

TEST_CASE("a pattern that is too long for the library is refused") {
  const std::string longest(1000, 'a');
  CHECK(Patterns({longest}).matches(longest));
  // The deepest pattern that is accepted fits on the stack.
  CHECK(Patterns({std::string(400, '(') + "a" + std::string(400, ')')}).matches("a"));
  for (const std::size_t length : {std::size_t{1001}, std::size_t{1} << 20}) {
    const std::string text(length, 'a');
    CHECK_THROWS_WITH(Patterns({text}), Catch::Contains("characters is longer than 1000"));
    trivet::Diagnostics diagnostics;
    trivet::check_patterns(diagnostics, "frozen", {text});
    REQUIRE(diagnostics.list().size() == 1);
    CHECK(diagnostics.list()[0].what.size() < 100);
  }
}
