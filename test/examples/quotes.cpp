// SPDX-License-Identifier: Apache-2.0
#include "quotes.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "support/paths.h"
#include "support/shell.h"

namespace trivet::test {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The name in "  // [class]"; empty for any other line.
std::string region_mark(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos || line.compare(begin, 4, "// [") != 0) return {};
  return line.ends_with("]") ? line.substr(begin + 4, line.size() - begin - 5) : std::string();
}

// The part of a line between a prefix and a suffix. Empty if it lacks them.
std::string between(const std::string& line, const std::string& front, const std::string& back) {
  if (!line.starts_with(front) || !line.ends_with(back)) return {};
  return line.substr(front.size(), line.size() - front.size() - back.size());
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<std::string> region_of(const std::string& text, const std::string& name) {
  std::string region;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    const std::string mark = region_mark(line);
    if (inside && mark == "/" + name) return region;
    if (inside && mark.empty()) region += line + "\n";
    inside = inside || mark == name;
  }
  return std::nullopt;
}

std::optional<std::string> source_region(const std::string& source) {
  const std::size_t hash = source.find('#');
  if (hash == std::string::npos) return std::nullopt;
  const fs::path file = source_root() / source.substr(0, hash);
  if (!fs::is_regular_file(file)) return std::nullopt;
  return region_of(read_file(file), source.substr(hash + 1));
}

std::string dedented(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  std::size_t common = std::string::npos;
  for (const std::string& line : lines) common = std::min(common, line.find_first_not_of(' '));
  std::string moved;
  for (const std::string& line : lines) moved += (line.empty() ? line : line.substr(common)) + "\n";
  return moved;
}

std::vector<Quote> page_quotes(const std::string& page) {
  std::vector<Quote> quotes;
  const std::vector<std::string> lines = lines_of(page);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string source = between(lines[i], "<!-- example: ", " -->");
    if (source.empty()) continue;
    quotes.push_back({.line = static_cast<int>(i) + 1, .source = source, .text = {}});
    if (i + 1 == lines.size() || lines[i + 1] != "```cpp") continue;
    for (i += 2; i < lines.size() && lines[i] != "```"; ++i) quotes.back().text += lines[i] + "\n";
  }
  return quotes;
}

std::vector<Quote> header_blocks(const std::string& header) {
  std::vector<Quote> blocks;
  std::string blank_lines;
  bool named = false, inside = false;
  int number = 0;
  for (const std::string& line : lines_of(header)) {
    ++number;
    const std::string comment = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (comment.starts_with("//   ")) {
      if (!named && !inside) blocks.push_back({.line = number, .source = {}, .text = {}});
      named = false;
      inside = true;
      blocks.back().text += blank_lines + comment.substr(5) + "\n";
      blank_lines.clear();
    } else if (comment == "//") {
      if (inside) blank_lines += "\n";
    } else {
      inside = false;
      blank_lines.clear();
      const std::string source = between(comment, "// Example (", "):");
      named = !source.empty();
      if (named) blocks.push_back({.line = number, .source = source, .text = {}});
    }
  }
  return blocks;
}

bool is_code(const std::string& block) {
  return std::ranges::any_of(lines_of(block), [](std::string line) {
    line.erase(std::min(line.find("  //"), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    return line.ends_with(";") || line.ends_with("{") || line.ends_with("{}");
  });
}

std::vector<fs::path> public_headers() {
  std::vector<fs::path> headers = files_below(source_root() / "sdk/include");
  std::ranges::move(files_below(source_root() / "sdk/testing/include"),
                    std::back_inserter(headers));
  return headers;
}

std::set<std::string> example_regions() {
  std::set<std::string> regions;
  for (const fs::path& file : files_below(source_root() / "sdk/examples")) {
    for (const std::string& line : lines_of(read_file(file))) {
      const std::string mark = region_mark(line);
      if (mark.empty() || mark.starts_with("/")) continue;
      regions.insert(file.lexically_relative(source_root()).string() + "#" + mark);
    }
  }
  return regions;
}

}  // namespace trivet::test
