// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/environment.h"

#include <cstdlib>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

namespace environment_test {

using trivet::environment_number;

TEST_CASE("a variable is a whole number of at least 0, or nothing") {
  constexpr const char* kName = "TRIVET_TEST_NUMBER";
  const auto number = [&](const std::string& text) {
    ::setenv(kName, text.c_str(), 1);
    return environment_number(kName);
  };
  CHECK(number("0") == 0);
  CHECK(number("12") == 12);
  constexpr int kMost = std::numeric_limits<int>::max();
  CHECK(number(std::to_string(kMost)) == kMost);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "2147483648", "one"}) {
    INFO("'" << text << "'");
    CHECK_FALSE(number(text).has_value());
  }
  ::unsetenv(kName);
  CHECK_FALSE(environment_number(kName).has_value());
}

}  // namespace environment_test
