// SPDX-License-Identifier: Apache-2.0
// What the README and the pages of docs quote of the sources is in the sources, letter for letter.
// A page names the file and the region on the line above the block:
//
//   <!-- example: sdk/examples/layer.h#class -->
//   ```cpp
//
// and the source has the region between two comments, `// [class]` and `// [/class]`. Such comments
// of other regions are not part of it.
#include <catch2/catch.hpp>

#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "doc_blocks.h"
#include "support/paths.h"
#include "support/shell.h"

namespace quotes_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

struct Quote {
  int line = 0;        // of the page
  std::string source;  // "sdk/examples/layer.h#class"
  std::string text;
};

// The name in "  // [class]"; empty for any other line.
std::string region_mark(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos || line.compare(begin, 4, "// [") != 0) return {};
  return line.ends_with("]") ? line.substr(begin + 4, line.size() - begin - 5) : std::string();
}

std::optional<std::string> region_of(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  std::string region;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const std::string mark = region_mark(line);
    if (inside && mark == "/" + name) return region;
    if (inside && mark.empty()) region += line + "\n";
    inside = inside || mark == name;
  }
  return std::nullopt;
}

std::vector<Quote> quotes_of(const std::string& page) {
  const std::string opening = "<!-- example: ", closing = " -->";
  std::vector<Quote> quotes;
  std::istringstream in(page);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.starts_with(opening) || !line.ends_with(closing)) continue;
    Quote& quote = quotes.emplace_back();
    quote.line = number;
    quote.source = line.substr(opening.size(), line.size() - opening.size() - closing.size());
    std::getline(in, line);
    ++number;
    if (line != "```cpp") continue;  // the text stays empty, which no region is
    for (; std::getline(in, line) && line != "```"; ++number) quote.text += line + "\n";
    ++number;
  }
  return quotes;
}

std::optional<std::string> source_text(const std::string& source) {
  const std::size_t hash = source.find('#');
  if (hash == std::string::npos) return std::nullopt;
  const fs::path file = source_root() / source.substr(0, hash);
  if (!fs::is_regular_file(file)) return std::nullopt;
  return region_of(read_file(file), source.substr(hash + 1));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::set<std::string> example_regions() {
  std::set<std::string> regions;
  for (const auto& entry : fs::directory_iterator(source_root() / "sdk/examples")) {
    std::istringstream in(read_file(entry.path()));
    for (std::string line; std::getline(in, line);) {
      const std::string mark = region_mark(line);
      if (mark.empty() || mark.starts_with("/")) continue;
      regions.insert("sdk/examples/" + entry.path().filename().string() + "#" + mark);
    }
  }
  return regions;
}

}  // namespace

TEST_CASE("what pages quote of the sources is there, letter for letter") {
  std::set<std::string> quoted_regions;
  for (const fs::path& page : doc_pages()) {
    for (const Quote& quote : quotes_of(read_file(page))) {
      INFO(page.filename().string() << ":" << quote.line << ": " << quote.source);
      const std::optional<std::string> text = source_text(quote.source);
      REQUIRE(text.has_value());
      CHECK(quote.text == *text);
      CHECK(quote.text != "");
      quoted_regions.insert(quote.source);
    }
  }
  for (const std::string& region : example_regions()) {
    INFO(region << " is quoted by no page");
    CHECK(quoted_regions.contains(region));
  }
}

TEST_CASE("every kind of plugin that is written often has a page, and a link to its header") {
  for (const char* kind : {"backend", "command", "input", "layer", "metric", "model", "optimizer",
                           "orchestrator", "sweep", "task", "tokenizer"}) {
    INFO(kind);
    const fs::path page = source_root() / "docs/plugins" / (std::string(kind) + ".md");
    REQUIRE(fs::is_regular_file(page));
    const std::string text = read_file(page);
    CHECK(text.find("](../../sdk/include/trivet/") != std::string::npos);
    // Code that is no quote is compiled by nobody.
    const std::vector<Quote> quotes = quotes_of(text);
    CHECK(!quotes.empty());
    CHECK(count_of(text, "\n```cpp\n") == quotes.size());
  }
}

TEST_CASE("a region is what stands between its marks, without those of others") {
  const std::string source = "a\n// [x]\nb\n  // [y]\nc\n  // [/y]\n// [/x]\n";
  CHECK(region_of(source, "x") == "b\nc\n");
  CHECK(region_of(source, "y") == "c\n");
  CHECK(!region_of(source, "z"));
  CHECK(!region_of("// [x]\nb\n", "x"));
  const std::vector<Quote> quotes =
      quotes_of("t\n<!-- example: f.h#x -->\n```cpp\nb\n```\n<!-- example: g.h#y -->\ntext\n");
  REQUIRE(quotes.size() == 2);
  CHECK(quotes[0].line == 2);
  CHECK(quotes[0].text == "b\n");
  CHECK(quotes[1].line == 6);
  CHECK(quotes[1].text.empty());
}

}  // namespace quotes_test
