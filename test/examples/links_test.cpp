// SPDX-License-Identifier: Apache-2.0
// Links of the README, the changelog and the pages of docs lead somewhere. Pages of docs are
// installed without the sources, so they link to each other only and name sources by their paths.
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "doc_blocks.h"
#include "support/paths.h"
#include "support/shell.h"

namespace links_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

// The page without its blocks of code.
std::string prose_of(const fs::path& page) {
  std::istringstream in("\n" + read_file(page));
  std::string prose;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const bool is_fence = line.starts_with("```");
    if (!inside && !is_fence) prose += line + "\n";
    if (is_fence) inside = !inside;
  }
  return prose;
}

// The names of a page's headings in links: "## Build it" is "build-it".
std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> anchors;
  for (const std::string& heading : matches(prose_of(page), "\n#+ ([^\n]+)")) {
    std::string anchor;
    for (const char c : heading) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// What is wrong with a link of a page; empty: nothing.
std::string mistake_in(const std::string& link, const fs::path& page) {
  if (link.find("://") != std::string::npos) return {};
  const std::size_t hash = link.find('#');
  const std::string name = link.substr(0, hash);
  const fs::path target = name.empty() ? page : (page.parent_path() / name).lexically_normal();
  if (!fs::exists(target)) return "the target does not exist";
  const fs::path docs = source_root() / "docs";
  if (is_below(page, docs) && !is_below(target, docs)) {
    return "the target is not installed beside the page: write its path as code";
  }
  if (hash == std::string::npos) return {};
  return anchors_of(target).count(link.substr(hash + 1)) == 1 ? "" : "there is no such heading";
}

}  // namespace

TEST_CASE("each link of the README, the changelog and the pages has a target", "[slow]") {
  std::vector<fs::path> pages = doc_pages();
  pages.push_back(source_root() / "CHANGELOG.md");
  std::size_t links = 0;
  for (const fs::path& page : pages) {
    for (const std::string& link : matches(prose_of(page), "\\]\\(([^) ]+)\\)")) {
      ++links;
      INFO(page.string() << ": " << link);
      CHECK(mistake_in(link, page) == "");
    }
  }
  CHECK(links > 50);
}

TEST_CASE("each path of the sources that a page names exists") {
  std::size_t paths = 0;
  for (const fs::path& page : doc_pages()) {
    const auto named = matches(
        prose_of(page), "`((?:sdk|runtime|plugins|configs|test)/[a-z0-9_/.-]+\\.(?:h|cpp|toml))`");
    for (const std::string& path : named) {
      ++paths;
      INFO(page.string() << ": " << path);
      CHECK(fs::is_regular_file(source_root() / path));
    }
  }
  CHECK(paths > 20);
}

TEST_CASE("a link without a target is found") {
  const fs::path page = source_root() / "docs" / "configuration.md";
  CHECK(mistake_in("checkpoints.md", page) == "");
  CHECK(mistake_in("#references", page) == "");
  CHECK(mistake_in("plugins/layer.md#test-it", page) == "");
  CHECK(mistake_in("https://example.org/", page) == "");
  CHECK(mistake_in("checkpoint.md", page) != "");
  CHECK(mistake_in("#reference", page) != "");
  CHECK(mistake_in("../README.md", page) != "");
}

}  // namespace links_test
