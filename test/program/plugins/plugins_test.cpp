// SPDX-License-Identifier: Apache-2.0
// `trivet plugins` and `trivet explain`, through the program. The test plugin alpha leaves a mark
// when its library is loaded.
#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/shell.h"

using trivet::test::PluginFolder;
using trivet::test::quoted;
using trivet::test::ShellResult;

namespace {

namespace fs = std::filesystem;

// Runs trivet with `folder` as its only plugin folder. A loaded library creates folder/opened.
ShellResult trivet_with(const PluginFolder& folder, const std::string& words) {
  const std::string opened = (folder.path() / "opened").string();
  return trivet::test::shell("TRIVET_TEST_OPENED=" + quoted(opened) + " " + folder.trivet() + " " +
                             words);
}

bool opened(const PluginFolder& folder) {
  return fs::exists(folder.path() / "opened");
}

using Catch::Contains;

}  // namespace

TEST_CASE("help, plugins and explain load no plugin library") {
  const PluginFolder folder;
  folder.copy("alpha");
  for (const char* words :
       {"--help", "--version", "plugins", "plugins --json", "explain alpha", "explain schedule",
        "explain alpha/Constant", "explain runtime.threads", "help plugins"}) {
    INFO(words);
    const ShellResult result = trivet_with(folder, words);
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK_FALSE(opened(folder));
    // The output of the loader, for libraries that leave no mark.
    const ShellResult traced = trivet::test::shell("LD_DEBUG=files " + folder.trivet() + " " +
                                                   words + " 2>&1 | grep 'file=.*alpha.so'");
    CHECK(traced.output.empty());
  }
}

TEST_CASE("the marker works: loading the library leaves it") {
  const PluginFolder folder;
  folder.copy("alpha");
  const std::string mark = (folder.path() / "opened").string();
  trivet::test::shell("TRIVET_TEST_OPENED=" + quoted(mark) +
                      " LD_PRELOAD=" + quoted((folder.path() / "alpha.so").string()) + " " +
                      quoted(trivet::test::program().string()) + " --version");
  CHECK(opened(folder));
}

TEST_CASE("trivet plugins lists usable and refused files with their state") {
  const PluginFolder folder;
  folder.copy("alpha");
  folder.copy("other_major");
  folder.copy_start("beta", 4096, "cut");
  const ShellResult result = trivet_with(folder, "plugins");
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("alpha 1.2.3  Apache-2.0  available"));
  CHECK_THAT(result.output, Contains("schedule     alpha/Constant, alpha/Sum"));
  CHECK_THAT(result.output, Contains("other_major.so: built for SDK 9.0"));
  CHECK_THAT(result.output, Contains("cut.so: truncated"));

  const auto json = nlohmann::json::parse(trivet_with(folder, "plugins --json").output);
  const auto of_folder = [&](const nlohmann::json& plugin) {
    return plugin.at("file").get<std::string>().starts_with(folder.path().string());
  };
  const auto& plugins = json.at("plugins");  // those of the folder first, then the built ones
  REQUIRE(std::count_if(plugins.begin(), plugins.end(), of_folder) == 3);
  CHECK(json.at("plugins")[0].at("items")[0].at("key") == "alpha/Constant");
  CHECK(json.at("plugins")[1].at("state") == "refused");
  CHECK(json.at("plugins")[2].at("name") == "other_major");
}

TEST_CASE("--plugin-dir is searched first, and a missing folder is reported") {
  const PluginFolder first, second;
  first.copy("alpha");
  second.copy("alpha");
  const ShellResult result = trivet_with(
      second, "plugins --plugin-dir " + quoted(first.path().string()) + " --plugin-dir /not/there");
  CHECK_THAT(result.output, Contains("shadowed"));
  CHECK_THAT(result.output,
             Contains("/not/there (--plugin-dir): refused: the folder does not exist"));
}

TEST_CASE("trivet explain shows the fields of an item from only its note") {
  const PluginFolder folder;
  folder.copy("alpha");
  const ShellResult result = trivet_with(folder, "explain alpha/Constant");
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("alpha/Constant (schedule)\n  The same at every step."));
  CHECK_THAT(result.output, Contains("A bare number selects it and sets 'value'."));
  CHECK_THAT(result.output, Contains("value  (float in [0, 10], required)\n"
                                     "      The value at every step."));
  CHECK_THAT(result.output, Contains("one of: calm, wild\n      may change when a run continues"));
  const ShellResult schema = trivet_with(folder, "schema alpha/Constant");
  CHECK(schema.exit_code == 0);
  const auto fields = nlohmann::json::parse(schema.output)
                          .at("definitions")
                          .at("schedule:alpha.Constant")
                          .at("properties");
  CHECK(fields.at("mode").at("x-adjustable") == true);
  CHECK_FALSE(fields.at("trouble").contains("x-adjustable"));
  CHECK_THAT(result.output, Contains("From alpha 1.2.3 (Apache-2.0), "));
}

TEST_CASE("trivet explain lists names if the name is wrong") {
  const PluginFolder folder;
  folder.copy("alpha");
  folder.copy("other_major");
  const ShellResult typo = trivet_with(folder, "explain alpha/Constnt");
  CHECK(typo.exit_code == 2);
  CHECK_THAT(typo.output, Contains("did you mean 'alpha/Constant'?"));
  const ShellResult refused = trivet_with(folder, "explain other_major/Plain");
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.output, Contains("built for SDK 9.0"));
  CHECK(trivet_with(folder, "explain runtime.thraeds").exit_code == 2);
  CHECK(trivet_with(folder, "explain").exit_code == 2);
  CHECK(trivet_with(folder, "plugins nn").exit_code == 2);
}
