// SPDX-License-Identifier: Apache-2.0
// docs/reference/ has a page for each shipped plugin, one for the built-in items and one for the
// keys of a config, all as the program writes them now. `./dev reference` rewrites them.
#include <filesystem>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"

namespace reference_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

fs::path pages() {
  return source_root() / "docs/reference";
}

ShellResult markdown(const std::string& subject) {
  return shell("HOME=/nonexistent TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " " +
               quoted(program().string()) + " explain --markdown " + subject);
}

std::set<std::string> subjects() {
  std::set<std::string> names = {"trivet"};
  for (const auto& entry : fs::directory_iterator(plugin_dir())) {
    if (entry.path().extension() == ".so") names.insert(entry.path().stem().string());
  }
  return names;
}

}  // namespace

TEST_CASE("the reference pages match the schemas") {
  std::set<std::string> expected = {"README.md", "config.md"};
  const ShellResult config = markdown("");
  REQUIRE(config.exit_code == 0);
  CHECK(config.output == read_file(pages() / "config.md"));
  for (const std::string& name : subjects()) {
    INFO("docs/reference/" << name << ".md is old: ./dev reference");
    const ShellResult page = markdown(name);
    REQUIRE(page.exit_code == 0);
    expected.insert(name + ".md");
    REQUIRE(fs::is_regular_file(pages() / (name + ".md")));
    CHECK(page.output == read_file(pages() / (name + ".md")));
    CHECK_THAT(read_file(pages() / "README.md"), Contains("(" + name + ".md)"));
  }
  for (const auto& entry : fs::directory_iterator(pages())) {
    INFO("docs/reference/" << entry.path().filename().string() << " describes no plugin");
    // A plugin whose library is not installed here is not built, and keeps its page.
    CHECK((expected.contains(entry.path().filename().string()) ||
           fs::is_directory(source_root() / "plugins" / entry.path().stem())));
  }
}

TEST_CASE("a page of Markdown has each field with its type, range, default and meaning") {
  const ShellResult page = markdown("nn/Linear");
  INFO(page.output);
  REQUIRE(page.exit_code == 0);
  CHECK_THAT(page.output,
             Contains("## nn/Linear (layer)\n") &&
                 Contains("| `output_dims` | integer >= 1 | required | Depth of the output. |\n") &&
                 Contains("| `init` | table |  | ") && Contains("| `init.scale` | float | "));
  CHECK_THAT(page.output, !Contains("nn/Dropout"));
  const ShellResult kind = markdown("schedule");
  REQUIRE(kind.exit_code == 0);
  CHECK_THAT(kind.output, Contains("## optim/Cosine (schedule)\n") && !Contains("(optimizer)") &&
                              Contains("A bare number selects this item and sets `value`."));
}

TEST_CASE("a page of Markdown for a missing item or a config is an error") {
  const ShellResult unknown = markdown("nnn");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.output, Contains("no key, plugin or kind is named 'nnn'"));
  const ShellResult config = markdown("nn/Linear --config x.toml");
  CHECK(config.exit_code == 2);
  CHECK_THAT(config.output, Contains("--markdown takes one key, plugin or kind"));
}

}  // namespace reference_test
