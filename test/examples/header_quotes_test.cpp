// SPDX-License-Identifier: Apache-2.0
// Code in comments of public headers must quote a region of a compiled source verbatim: see
// quotes.h.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "quotes.h"
#include "support/paths.h"
#include "support/shell.h"

namespace header_quotes_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

std::string location(const fs::path& header, const Quote& block) {
  return header.lexically_relative(source_root()).string() + ":" + std::to_string(block.line);
}

}  // namespace

TEST_CASE("a header quotes sources verbatim") {
  int quotes = 0;
  for (const fs::path& header : public_headers()) {
    for (const Quote& block : header_blocks(read_file(header))) {
      if (block.source.empty()) continue;
      ++quotes;
      INFO(location(header, block) << ": " << block.source);
      const std::optional<std::string> region = source_region(block.source);
      REQUIRE(region.has_value());
      CHECK(block.text == dedented(*region));
    }
  }
  CHECK(quotes > 40);
}

TEST_CASE("all code in headers is compiled") {
  for (const fs::path& header : public_headers()) {
    for (const Quote& block : header_blocks(read_file(header))) {
      INFO(location(header, block) << ": name the region that this is, see test/examples/quotes.h\n"
                                   << block.text);
      CHECK((!block.source.empty() || !is_code(block.text)));
    }
  }
}

TEST_CASE("a block of a header is text indented by three blanks") {
  const std::vector<Quote> blocks = header_blocks(
      "// Text.\n//\n//   a = 1\n//\n//   b\n//\n// Example (f.h#x):\n//\n//   c;\n"
      "  // Example (f.h#y):\n  //   if (d) {\n  //     e;\n  //   }\n  void f();\n"
      "// Example (f.h#z):\n// Text.\n");
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[0].line == 3);
  CHECK(blocks[0].source.empty());
  CHECK(blocks[0].text == "a = 1\n\nb\n");
  CHECK_FALSE(is_code(blocks[0].text));
  CHECK(blocks[1].line == 7);
  CHECK(blocks[1].source == "f.h#x");
  CHECK(blocks[1].text == "c;\n");
  CHECK(blocks[2].text == "if (d) {\n  e;\n}\n");
  CHECK(blocks[3].source == "f.h#z");
  CHECK(blocks[3].text.empty());
}

TEST_CASE("code has a line that ends like a statement") {
  CHECK(is_code("f();\n"));
  CHECK(is_code("f();   // why\n"));
  CHECK(is_code("struct A {\n"));
  CHECK(is_code("A() : b_(1) {}\n"));
  CHECK_FALSE(is_code("activation = { type = \"nn/Gelu\" }\n"));
  CHECK_FALSE(is_code("RunError   1   the run failed\n"));
  CHECK(dedented("  a\n\n    b\n") == "a\n\n  b\n");
}

}  // namespace header_quotes_test
