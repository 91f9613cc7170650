// SPDX-License-Identifier: Apache-2.0
#include "doc_blocks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/paths.h"

namespace trivet::test {
namespace {

constexpr const char* kOpening = "<!-- test: ";
constexpr const char* kClosing = " -->";

// Numbers before such a word depend on the machine, and so do numbers with these names.
bool is_of_machine(const std::string& name, const std::string& unit) {
  for (const char* const word :
       {"s", "ms", "MB", "GB", "kB", "B", "threads", "thread", "examples/s", "examples/s,",
        "GFLOP/s,", "GFLOP/s", "page", "per", "tokens/s"}) {
    if (unit == word || unit == std::string(word) + ",") return true;
  }
  for (const char* const word : {"examples_per_second", "tokens_per_second", "eta", "seconds"}) {
    if (name == word) return true;
  }
  return false;
}

std::vector<std::string> words_of(const std::string& line) {
  // "10 s" and "1 m 06 s" alike.
  static const std::regex kDuration("([0-9]+ h )?[0-9]+ m [0-9]+ s");
  std::istringstream in(std::regex_replace(line, kDuration, "1 s"));
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// "loss=0.5," is the name "loss", the number 0.5 and a ",".
struct Number {
  std::string name, behind;
  double value = 0;
  bool has_fraction = false;
};

bool read_number(const std::string& word, Number& number) {
  const std::size_t equals = word.find('=');
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  number.name = word.substr(0, equals == std::string::npos ? 0 : equals);
  std::string digits;
  std::size_t end = begin;
  for (; end < word.size(); ++end) {
    const char c = word[end];
    if (c == ',' && end + 1 < word.size() && std::isdigit(word[end + 1]) != 0) continue;
    if (std::isdigit(c) == 0 && c != '.' && c != '-' && c != 'e' && c != '+') break;
    digits += c;
  }
  if (digits.empty() || std::isdigit(digits[digits.size() > 1 && digits[0] == '-']) == 0) {
    return false;
  }
  while (digits.back() == '.') {
    digits.pop_back();
    --end;
  }
  char* rest = nullptr;
  number.value = std::strtod(digits.c_str(), &rest);
  number.has_fraction = digits.find_first_of(".e") != std::string::npos;
  number.behind = word.substr(end);
  return *rest == '\0';
}

bool is_same_word(const std::string& shown, const std::string& word, const std::string& unit) {
  if (shown == word) return true;
  if (shown.starts_with('/') && word.starts_with('/')) {
    return std::filesystem::path(shown).filename() == std::filesystem::path(word).filename();
  }
  Number a, b;
  if (!read_number(shown, a) || !read_number(word, b) || a.name != b.name) return false;
  if (is_of_machine(a.name, a.behind.empty() ? unit : a.behind)) return true;
  if (a.behind != b.behind) return false;
  if (!a.has_fraction && !b.has_fraction) return a.value == b.value;
  return std::fabs(a.value - b.value) <= 0.05 * std::fabs(a.value) + 1e-9;
}

void add_directive(const std::string& line, std::vector<DocBlock::Directive>& directives) {
  const std::string opening = kOpening, closing = kClosing;
  const std::string text =
      line.substr(opening.size(), line.size() - opening.size() - closing.size());
  const std::string two_words = "not run";
  const std::size_t end = text.starts_with(two_words) ? two_words.size() : text.find(' ');
  std::size_t words = end == std::string::npos ? text.size() : end;
  while (words < text.size() && (text[words] == ' ' || text[words] == ',')) ++words;
  directives.push_back({text.substr(0, end), text.substr(words)});
}

void add_console_line(const std::string& line, bool& goes_on,
                      std::vector<DocBlock::Command>& commands) {
  if (goes_on) {
    commands.back().text += "\n" + line;
  } else if (line.starts_with("$ ")) {
    commands.push_back({line.substr(2), {}});
  } else if (!commands.empty()) {
    commands.back().expected.push_back(line);
    return;
  }
  goes_on = line.ends_with('\\');
}

}  // namespace

const std::string* DocBlock::directive(const std::string& name) const {
  for (const Directive& one : directives) {
    if (one.name == name) return &one.words;
  }
  return nullptr;
}

std::vector<DocBlock> blocks_of(const std::filesystem::path& page) {
  std::vector<DocBlock> blocks;
  std::vector<DocBlock::Directive> directives;
  std::ifstream in(page);
  bool inside = false, goes_on = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside) {
        DocBlock& block = blocks.emplace_back();
        block.kind = line.substr(3);
        block.line = number;
        block.directives = directives;
      }
      inside = !inside;
      directives.clear();
      goes_on = false;
    } else if (!inside) {
      if (line.starts_with(kOpening) && line.ends_with(kClosing)) add_directive(line, directives);
    } else {
      blocks.back().text += line + "\n";
      if (blocks.back().kind == "console") {
        add_console_line(line, goes_on, blocks.back().commands);
      }
    }
  }
  return blocks;
}

std::vector<std::filesystem::path> doc_pages() {
  std::vector<std::filesystem::path> found = {source_root() / "README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  std::sort(found.begin() + 1, found.end());
  return found;
}

bool is_as_shown(const std::string& shown, const std::string& line) {
  const std::vector<std::string> a = words_of(shown), b = words_of(line);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == "...") return true;
    if (i >= b.size()) return false;
    if (!is_same_word(a[i], b[i], i + 1 < a.size() ? a[i + 1] : "")) return false;
  }
  return a.size() == b.size();
}

std::string first_missing(const std::vector<std::string>& shown, const std::string& output) {
  std::istringstream in(output);
  for (const std::string& wanted : shown) {
    if (wanted == "...") continue;
    bool found = false;
    for (std::string line; !found && std::getline(in, line);) found = is_as_shown(wanted, line);
    if (!found) return wanted;
  }
  return {};
}

}  // namespace trivet::test
