// SPDX-License-Identifier: Apache-2.0
#include "support/overrides.h"

#include <algorithm>
#include <set>

namespace trivet::test {
namespace {

// "a.b=" of "a.b=1"; empty for anything else.
std::string assigned(const std::string& word) {
  const std::size_t end = word.find('=');
  const bool is_path = end != std::string::npos && word.find_first_of("'\" ") > end;
  return is_path ? word.substr(0, end + 1) : std::string();
}

// Splits like a shell, but keeps the quotes.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && c == ' ') {
      words.emplace_back();
      continue;
    }
    words.back() += c;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    }
  }
  std::erase(words, "");
  return words;
}

}  // namespace

std::vector<std::string> last_of_each(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  std::set<std::string> later;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const std::string path = assigned(*word);
    if (path.empty() || later.insert(path).second) kept.push_back(*word);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::string last_of_each(const std::string& words) {
  std::string text;
  for (const std::string& word : last_of_each(split(words))) text += word + " ";
  return text;
}

}  // namespace trivet::test
