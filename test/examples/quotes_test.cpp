// SPDX-License-Identifier: Apache-2.0
// The README and the pages of docs quote sources verbatim, and every region of the examples is
// quoted.
#include "quotes.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "doc_blocks.h"
#include "support/paths.h"
#include "support/shell.h"

namespace quotes_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("pages quote sources verbatim") {
  for (const fs::path& page : doc_pages()) {
    for (const Quote& quote : page_quotes(read_file(page))) {
      INFO(page.filename().string() << ":" << quote.line << ": " << quote.source);
      const std::optional<std::string> text = source_region(quote.source);
      REQUIRE(text.has_value());
      CHECK(quote.text == *text);
      CHECK(quote.text != "");
    }
  }
}

TEST_CASE("a page or a header quotes every region of the examples") {
  std::set<std::string> quoted;
  for (const fs::path& page : doc_pages()) {
    for (const Quote& quote : page_quotes(read_file(page))) quoted.insert(quote.source);
  }
  for (const fs::path& header : public_headers()) {
    for (const Quote& block : header_blocks(read_file(header))) quoted.insert(block.source);
  }
  const std::set<std::string> regions = example_regions();
  CHECK(regions.contains("sdk/examples/snippets/value.cpp#value"));
  for (const std::string& region : regions) {
    INFO(region << " is quoted by no page and no header");
    CHECK(quoted.contains(region));
  }
}

TEST_CASE("every common kind of plugin has a page that names its header") {
  for (const char* kind : {"backend", "command", "input", "layer", "metric", "model", "optimizer",
                           "orchestrator", "sweep", "task", "tokenizer"}) {
    INFO(kind);
    const fs::path page = source_root() / "docs/plugins" / (std::string(kind) + ".md");
    REQUIRE(fs::is_regular_file(page));
    const std::string text = read_file(page);
    CHECK(text.find("`sdk/include/trivet/") != std::string::npos);
    // Code that is not a quote is never compiled.
    const std::vector<Quote> quotes = page_quotes(text);
    CHECK(!quotes.empty());
    CHECK(count_of(text, "\n```cpp\n") == quotes.size());
  }
}

TEST_CASE("a region is the text between its marks, without other marks") {
  const std::string source = "a\n// [x]\nb\n  // [y]\nc\n  // [/y]\n// [/x]\n";
  CHECK(region_of(source, "x") == "b\nc\n");
  CHECK(region_of(source, "y") == "c\n");
  CHECK(!region_of(source, "z"));
  CHECK(!region_of("// [x]\nb\n", "x"));
  const std::vector<Quote> quotes =
      page_quotes("t\n<!-- example: f.h#x -->\n```cpp\nb\n```\n<!-- example: g.h#y -->\ntext\n");
  REQUIRE(quotes.size() == 2);
  CHECK(quotes[0].line == 2);
  CHECK(quotes[0].text == "b\n");
  CHECK(quotes[1].line == 6);
  CHECK(quotes[1].text.empty());
}

}  // namespace quotes_test
