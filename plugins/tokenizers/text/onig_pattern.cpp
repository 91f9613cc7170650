// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/onig_pattern.h"

#include <algorithm>
#include <cstddef>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kHex = "0-9A-Fa-f";
constexpr std::size_t kMaxNesting = 100;

bool is_ascii_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

enum class Where { outside, in_class };

class OnigTranslator {
 public:
  OnigTranslator(std::string_view pattern, const std::string& place)
      : pattern_(pattern), place_(place) {}

  std::string translate() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape(Where::outside);
      } else if (c == '[') {
        character_class();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        interval();
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw InputError(
        fmt::format("{} has {} at byte {} of the regular expression, which is not supported",
                    place_, what, at_),
        {.hint = "trivet runs regular expressions with PCRE2; write this part in another way"});
  }
  std::string_view rest() const { return pattern_.substr(at_); }
  void copy(std::size_t count) {
    out_ += rest().substr(0, count);
    at_ += std::min(count, pattern_.size() - at_);
  }
  void replace(std::size_t count, std::string_view by) {
    out_ += by;
    at_ += count;
  }

  // A class of characters, inside or outside brackets.
  void set(std::string_view members, bool in_class, bool negated) {
    if (in_class && negated) refuse("a negated class in brackets");
    if (in_class) return replace(2, members);
    replace(2, fmt::format("[{}{}]", negated ? "^" : "", members));
  }

  void escape(Where where) {
    const bool in_class = where == Where::in_class;
    if (at_ + 1 == pattern_.size()) refuse("a backslash without a character");
    const char c = pattern_[at_ + 1];
    if (!is_ascii_alnum(c)) return copy(2);
    switch (c) {
      case 's':
        return replace(2, R"(\p{White_Space})");
      case 'S':
        return replace(2, R"(\P{White_Space})");
      case 'd':
        return replace(2, R"(\p{Nd})");
      case 'D':
        return replace(2, R"(\P{Nd})");
      case 'w':
      case 'W':
        return set(kWord, in_class, c == 'W');
      case 'h':
      case 'H':
        return set(kHex, in_class, c == 'H');
      case 'v':
        return replace(2, R"(\x{B})");
      case 'b':
        return in_class ? replace(2, R"(\x{8})") : boundary(kBoundary);
      case 'B':
        return in_class ? refuse("\\B in brackets") : boundary(kNoBoundary);
      case 'A':
      case 'z':
      case 'Z':
        return in_class ? refuse("an anchor in brackets") : copy(2);
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        return copy(2);
      case 'x':
        return copy(2);
      case 'u':
        return four_digits();
      case 'p':
      case 'P':
        return property();
      default:
        refuse(fmt::format("\\{}", c));
    }
  }

  // {0} is a class of word characters.
  static constexpr const char* kBoundary = "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))";
  static constexpr const char* kNoBoundary = "(?:(?<={0})(?={0})|(?<!{0})(?!{0}))";
  void boundary(const char* form) {
    replace(2, fmt::format(fmt::runtime(form), fmt::format("[{}]", kWord)));
  }

  void four_digits() {
    const std::string_view digits = rest().substr(2, 4);
    if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
      refuse("\\u without four digits");
    }
    replace(6, fmt::format("\\x{{{}}}", digits));
  }

  // Oniguruma means scripts; PCRE2 means their extensions, unless the name has a prefix.
  void property() {
    const std::size_t close = rest().find('}');
    if (!rest().substr(2).starts_with('{') || close == std::string_view::npos) {
      refuse("\\p without {name}");
    }
    std::string_view name = rest().substr(3, close - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    constexpr std::string_view kNoScripts[] = {"Any",
                                               "Alphabetic",
                                               "White_Space",
                                               "Lowercase",
                                               "Uppercase",
                                               "ASCII",
                                               "Emoji",
                                               "Math",
                                               "Ideographic",
                                               "Extended_Pictographic",
                                               "Cased",
                                               "Dash",
                                               "Diacritic",
                                               "Emoji_Modifier",
                                               "Emoji_Presentation",
                                               "Hex_Digit",
                                               "ID_Start",
                                               "ID_Continue",
                                               "XID_Start",
                                               "XID_Continue",
                                               "Variation_Selector"};
    const bool is_script =
        name.size() > 2 &&
        std::find(std::begin(kNoScripts), std::end(kNoScripts), name) == std::end(kNoScripts);
    const std::string text = fmt::format("{}{{{}{}{}}}", rest().substr(0, 2), negated ? "^" : "",
                                         is_script ? "sc:" : "", name);
    replace(close + 1, text);
  }

  void character_class() {
    copy(1);
    if (rest().starts_with('^')) copy(1);
    if (rest().starts_with(']')) replace(1, "\\]");
    class_members(0);
    copy(1);
  }

  // Leaves the position at the closing bracket.
  void class_members(std::size_t depth) {
    while (true) {
      if (at_ >= pattern_.size()) refuse("a class without its closing bracket");
      const std::string_view text = rest();
      if (text[0] == ']') return;
      if (text.starts_with("&&")) refuse("an intersection of classes (&&)");
      if (text.starts_with("[:")) {
        posix();
      } else if (text[0] == '[') {
        nested(depth + 1);
      } else if (text[0] == '\\') {
        escape(Where::in_class);
      } else {
        copy(1);
      }
    }
  }

  // A class in a class adds its members.
  void nested(std::size_t depth) {
    if (depth > kMaxNesting) refuse("classes that are nested too deeply");
    if (rest().starts_with("[^")) refuse("a negated class in brackets");
    const bool after_dash = out_.ends_with('-');
    ++at_;
    if (after_dash || rest().starts_with('-')) refuse("a hyphen next to a class in brackets");
    class_members(depth);
    if (out_.ends_with('-') || rest().starts_with("]-")) {
      refuse("a hyphen next to a class in brackets");
    }
    ++at_;
  }

  void posix() {
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"[:alpha:]", R"(\p{Alphabetic})"},
        {"[:digit:]", R"(\p{Nd})"},
        {"[:space:]", R"(\p{White_Space})"},
        {"[:upper:]", R"(\p{Uppercase})"},
        {"[:lower:]", R"(\p{Lowercase})"},
        {"[:alnum:]", R"(\p{Alphabetic}\p{Nd})"},
        {"[:word:]", kWord},
        {"[:xdigit:]", kHex},
        {"[:cntrl:]", R"(\p{Cc})"}};
    for (const auto& [name, members] : kNames) {
      if (rest().starts_with(name)) return replace(name.size(), members);
    }
    refuse("a class in [: :]");
  }

  void group() {
    if (rest().starts_with("(*")) refuse("(*");
    if (!rest().starts_with("(?")) return copy(1);
    constexpr std::string_view kOpenings[] = {"(?:", "(?=",  "(?!",  "(?<=",  "(?<!",
                                              "(?>", "(?i:", "(?i)", "(?-i:", "(?-i)"};
    for (const std::string_view opening : kOpenings) {
      if (rest().starts_with(opening)) return copy(opening.size());
    }
    const std::size_t close = rest().find('>');
    const std::string_view name = rest().substr(0, close).substr(std::min<std::size_t>(3, close));
    const bool named =
        rest().starts_with("(?<") && close != std::string_view::npos && !name.empty() &&
        std::all_of(name.begin(), name.end(), [](char c) { return is_ascii_alnum(c) || c == '_'; });
    if (!named) refuse("the group " + std::string(rest().substr(0, 4)));
    copy(close + 1);
  }

  void interval() {
    const std::size_t close = rest().find('}');
    const std::string_view inside =
        close == std::string_view::npos ? std::string_view() : rest().substr(1, close - 1);
    const bool is_interval = !inside.empty() && inside != "," &&
                             inside.find_first_not_of("0123456789,") == std::string_view::npos;
    if (!is_interval) return replace(1, "\\{");
    if (inside[0] == ',') {
      replace(1, "{0");
    } else {
      copy(1);
    }
    copy(inside.size() + 1);
    if (rest().starts_with('+')) refuse("a repetition of an interval, {n}+,");
  }

  std::string_view pattern_;
  const std::string& place_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string pcre2_pattern(std::string_view onig, const std::string& place) {
  return OnigTranslator(onig, place).translate();
}

}  // namespace trivet::tokenizers
