// SPDX-License-Identifier: Apache-2.0
#include "config/toml/text_checks.h"

#include <vector>

namespace trivet {
namespace {

// Implements just enough of TOML's grammar to distinguish brackets and dots of keys from those
// inside strings and comments. It may miscount malformed text, which the parser reports anyway.
class NestingScanner {
 public:
  explicit NestingScanner(std::string_view text) : text_(text) {}

  std::optional<std::size_t> scan() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        skip_line();
        continue;
      }
      step(c);
      if (levels_.size() + dots_in_keys_ + dots_ > kDeepestNesting) return at_;
      ++at_;
    }
    return std::nullopt;
  }

 private:
  void step(char c) {
    switch (c) {
      case '[':
      case '{':
        return open();
      case ']':
      case '}':
        return close();
      case '.':
        ++dots_;
        return;
      case ',':
        dots_ = 0;
        return;
      case '\n':
        // A value that spans lines keeps its key's depth until its bracket closes.
        dots_ = 0;
        return;
      default:
        return;
    }
  }

  void open() {
    levels_.push_back(dots_);
    dots_in_keys_ += dots_;
    dots_ = 0;
  }

  void close() {
    if (levels_.empty()) return;
    dots_in_keys_ -= levels_.back();
    levels_.pop_back();
    dots_ = 0;
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_string(char quote) {
    const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
    const bool multi_line = text_.substr(at_, 3) == triple;
    at_ += multi_line ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        at_ += 2;
      } else if (multi_line && text_.substr(at_, 3) == triple) {
        at_ += 3;
        return;
      } else if (!multi_line && (c == quote || c == '\n')) {
        ++at_;
        return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::size_t> levels_;  // for each open bracket: dots of the key before it
  std::size_t dots_in_keys_ = 0;     // sum of levels_
  std::size_t dots_ = 0;             // dots of the current key
};

}  // namespace

std::optional<std::size_t> find_too_deep_nesting(std::string_view text) {
  return NestingScanner(text).scan();
}

TextPosition location_of(std::string_view text, std::size_t offset) noexcept {
  TextPosition location;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      ++location.line;
      location.column = 1;
    } else if ((byte & 0xC0u) != 0x80u) {
      ++location.column;
    }
  }
  return location;
}

}  // namespace trivet
