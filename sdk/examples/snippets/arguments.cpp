// SPDX-License-Identifier: Apache-2.0
// What trivet/config/arguments.h shows.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/config/arguments.h>
#include <trivet/error.h>

namespace arguments_example {

using namespace trivet;

namespace {

// What the example uses of these words.
std::string used_of(const std::vector<std::string>& words) {
  std::string used;
  const auto use = [&](const std::string& text) { used = text; };
  // [arguments]
  constexpr OptionSpec kOptions[] = {{.name = "workdir", .value = "DIR", .doc = "Where to."}};
  const Arguments arguments = parse_arguments(words, kOptions);
  if (const std::string* dir = arguments.last("workdir")) use(*dir);
  // [/arguments]
  return used;
}

}  // namespace

TEST_CASE("example: arguments are read by a table of options") {
  CHECK(used_of({"--workdir", "out"}) == "out");
  CHECK(used_of({"--workdir=out", "more"}) == "out");
  CHECK(used_of({"more"}).empty());
  CHECK_THROWS_AS(used_of({"--wokdir", "out"}), UsageError);
}

}  // namespace arguments_example
