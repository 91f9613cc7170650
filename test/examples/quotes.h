// SPDX-License-Identifier: Apache-2.0
// Regions of sources, and their quotes in pages and public headers. A region is the text between
// two comments, `// [class]` and `// [/class]`, without such comments of other regions.
//
// A page names the file and the region on the line above the block:
//
//   <!-- example: sdk/examples/layer.h#class -->
//   ```cpp
//
// A comment of a header names them above the block, which is indented by three blanks:
//
//   // Example (sdk/examples/snippets/value.cpp#value):
//   //
//   //   Value v = Value::table();
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trivet::test {

// A block of a page or a header.
struct Quote {
  int line = 0;        // of the comment that names the source, else of the block
  std::string source;  // "sdk/examples/layer.h#class"; empty: no source
  std::string text;    // empty: no block follows
};

std::optional<std::string> region_of(const std::string& text, const std::string& name);
// The region of "FILE#REGION" below the source folder. Nothing if either is missing.
std::optional<std::string> source_region(const std::string& source);
// The lines without their common indentation.
std::string dedented(const std::string& text);

// The blocks of C++ that a page quotes.
std::vector<Quote> page_quotes(const std::string& page);
// All indented blocks in the comments of a header, code or not.
std::vector<Quote> header_blocks(const std::string& header);
// Whether a line of the block ends like a C++ statement, ignoring trailing comments.
bool is_code(const std::string& block);

// The headers of sdk/include and sdk/testing/include.
std::vector<std::filesystem::path> public_headers();
// "sdk/examples/layer.h#class" and so on, all of them.
std::set<std::string> example_regions();

}  // namespace trivet::test
