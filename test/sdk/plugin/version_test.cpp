// SPDX-License-Identifier: Apache-2.0
// The version that libtrivet reports is the release's.
#include "trivet/version.h"

#include <fstream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/paths.h"

TEST_CASE("libtrivet reports the version of the build file") {
  std::ifstream file(trivet::test::source_root() / "meson.build");
  std::stringstream text;
  text << file.rdbuf();
  const std::string expected = "version: '" + std::string(trivet::version()) + "'";
  CHECK(text.str().find(expected) != std::string::npos);
}
