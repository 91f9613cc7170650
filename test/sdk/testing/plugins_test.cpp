// SPDX-License-Identifier: Apache-2.0
// Plugins in the test program of a plugin's author.
#include "trivet/testing/plugins.h"

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

using Catch::Contains;
using trivet::PluginError;
using trivet::testing::load_plugin;

TEST_CASE("a plugin that a test loads offers its items, also when loaded repeatedly") {
  const std::filesystem::path file = trivet::test::plugin_dir() / "tiny.so";
  load_plugin(file);
  load_plugin(file.parent_path() / "." / file.filename());
  REQUIRE(trivet::registry().find("backend", "tiny/Backend") != nullptr);
  CHECK(trivet::registry().find("backend", "tiny/Backend")->plugin->file == file);
  CHECK(trivet::testing::open_device("tiny/Backend")->key() == "tiny/Backend");
  CHECK_THROWS_WITH(trivet::testing::open_device("tiny/Nothing"), Contains("tiny/Nothing"));
}

TEST_CASE("a file that a test cannot load as a plugin is named") {
  const trivet::test::TempDir dir;
  CHECK_THROWS_AS(load_plugin(dir.path() / "missing.so"), PluginError);
  CHECK_THROWS_WITH(load_plugin(dir.path() / "missing.so"), Contains("missing.so"));
  CHECK_THROWS_WITH(load_plugin(trivet::test::build_root() / "test/plugins/fixtures/no_entry.so"),
                    Contains("no_entry.so") && Contains("is no plugin"));
  CHECK_THROWS(trivet::testing::load_plugins(dir.path() / "missing"));
}
