// SPDX-License-Identifier: Apache-2.0
#include "trivet/text/strings.h"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

using namespace trivet;

TEST_CASE("blanks go from the ends of a text, and no others") {
  CHECK(trim("  a b\t\n") == "a b");
  CHECK(trim("a") == "a");
  CHECK(trim(" \r\n\t ").empty());
  CHECK(trim("").empty());
  CHECK(trim("__a_", "_") == "a");
  CHECK(trim(" a ", "") == " a ");
}

TEST_CASE("the parts of a text, joined by the separator, are the text") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("a,b", ',') == Parts{"a", "b"});
  CHECK(split("a,,b,", ',') == Parts{"a", "", "b", ""});
  CHECK(split("", ',') == Parts{""});
  CHECK(split(",", ',') == Parts{"", ""});
  CHECK(split("abc", ',') == Parts{"abc"});
  for (const std::string& text :
       std::vector<std::string>{"", "/", "a//b/", std::string(1000, '/')}) {
    std::string joined;
    for (const std::string_view part : split(text, '/')) joined += std::string(part) + "/";
    joined.pop_back();
    CHECK(joined == text);
  }
}

TEST_CASE("one has no plural") {
  CHECK(count_of(0, "row") == "0 rows");
  CHECK(count_of(1, "row") == "1 row");
  CHECK(count_of(2, "row") == "2 rows");
  CHECK(count_of(1, "retry", "retries") == "1 retry");
  CHECK(count_of(0, "retry", "retries") == "0 retries");
  CHECK(noun_for(1, "row") == "row");
  CHECK(noun_for(1000, "row") == "rows");
}
