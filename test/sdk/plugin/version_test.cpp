// SPDX-License-Identifier: Apache-2.0
// The version that libtrivet reports is the release's.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "support/paths.h"
#include "trivet/version.h"

TEST_CASE("libtrivet reports the version of the build file") {
  std::ifstream file(trivet::test::source_root() / "meson.build");
  std::stringstream text;
  text << file.rdbuf();
  const std::string expected = "version: '" + std::string(trivet::version()) + "'";
  CHECK(text.str().find(expected) != std::string::npos);
}
