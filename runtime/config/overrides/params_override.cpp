// SPDX-License-Identifier: Apache-2.0
#include "config/overrides/params_override.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/toml/text_checks.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr std::string_view kOption = "--params_override=";
constexpr std::string_view kBlanks = " \t\r\n";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// TOML has no null.
Value none_for_null(Value value) {
  if (value.is_null()) return "none";
  if (value.is_array()) {
    for (Value& item : value.items()) item = none_for_null(std::move(item));
  }
  if (value.is_table()) {
    for (Value::Member& member : value.members()) {
      member.value = none_for_null(std::move(member.value));
    }
  }
  return value;
}

// A range of the text.
struct Piece {
  std::size_t begin = 0, end = 0;
};

class ValueReader {
 public:
  explicit ValueReader(const std::string& text)
      : text_(text), shown_(std::string(kOption) + text) {}

  std::vector<Override> pairs();
  std::vector<Override> json();

 private:
  [[noreturn]] void fail(std::size_t at, std::string what, std::string hint = {}) const {
    const Override whole{text_, shown_, kOption.size()};
    throw ConfigError(
        Diagnostic{override_origin(whole, 1, at), {}, std::move(what), std::move(hint)});
  }

  // Behind the quote that closes the one at `at`.
  // In quotes that are not single, a backslash takes the next character with it.
  std::size_t skip_quoted(std::size_t at) const {
    const char quote = text_[at];
    const bool escapes = quote == '"';
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (escapes && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        return i + 1;
      }
    }
    fail(at, "this quote is not closed");
  }

  Piece inside(Piece piece) const {
    while (piece.begin < piece.end && kBlanks.find(text_[piece.begin]) != std::string_view::npos) {
      ++piece.begin;
    }
    while (piece.end > piece.begin &&
           kBlanks.find(text_[piece.end - 1]) != std::string_view::npos) {
      --piece.end;
    }
    return piece;
  }
  std::string text_of(const Piece& piece) const {
    return text_.substr(piece.begin, piece.end - piece.begin);
  }

  std::vector<Piece> split_pairs() const;
  std::vector<Piece> split_members(std::size_t begin, std::size_t end) const;
  void add_members(const Piece& object, const std::string& path, std::vector<Override>& overrides,
                   std::set<std::string>& taken) const;
  std::string read_value(const Piece& piece) const;
  std::string read_list(const Piece& piece) const;
  std::string read_item(const Piece& piece) const;
  Override make_override(const Piece& key, const Piece& value, const std::string& value_text) const;

  const std::string& text_;
  const std::string shown_;
};

// Splits at commas outside quotes and brackets.
std::vector<Piece> ValueReader::split_pairs() const {
  std::vector<Piece> pieces;
  std::size_t begin = 0, open = std::string::npos;
  for (std::size_t at = 0; at < text_.size();) {
    const char c = text_[at];
    const bool opens_value =
        at > 0 && std::string_view("=[, \t").find(text_[at - 1]) != std::string_view::npos;
    if ((c == '"' || c == '\'') && opens_value) {
      at = skip_quoted(at);
      continue;
    }
    const bool value = text_.find('=', begin) < at;
    if (c == '[' && value) {
      if (open != std::string::npos) {
        fail(at, "pairs cannot contain nested lists", "write it as JSON: {\"key\": [[1, 2], [3]]}");
      }
      open = at;
    } else if (c == ']' && value) {
      if (open == std::string::npos) fail(at, "this ']' has no '['");
      open = std::string::npos;
    } else if (c == ',' && open == std::string::npos) {
      pieces.push_back({begin, at});
      begin = at + 1;
    }
    ++at;
  }
  if (open != std::string::npos) fail(open, "']' is missing");
  pieces.push_back({begin, text_.size()});
  return pieces;
}

std::vector<Override> ValueReader::pairs() {
  std::vector<Override> overrides;
  for (const Piece& piece : split_pairs()) {
    const Piece pair = inside(piece);
    if (pair.begin == pair.end) fail(std::min(pair.begin, text_.size()), "a pair is missing here");
    const std::size_t equals = text_.find('=', pair.begin);
    if (equals >= pair.end) fail(pair.begin, "'=' and a value are missing", "write key=value");
    const Piece key = inside({pair.begin, equals});
    const Piece value = inside({equals + 1, pair.end});
    if (key.begin == key.end) fail(equals, "the key before '=' is missing");
    overrides.push_back(make_override(key, value, read_value(value)));
  }
  return overrides;
}

std::string ValueReader::read_value(const Piece& piece) const {
  if (piece.begin == piece.end) return {};
  const char first = text_[piece.begin];
  if (first == '{') {
    fail(piece.begin, "pairs cannot contain tables",
         "write a dotted key for each value, or all of it as JSON");
  }
  if (first == '[') return read_list(piece);
  if (first == '"' || first == '\'') {
    const std::size_t end = skip_quoted(piece.begin);
    if (end != piece.end) fail(end, "unexpected text after the closing quote", "expected ','");
  }
  return text_of(piece);
}

std::string ValueReader::read_list(const Piece& piece) const {
  if (text_[piece.end - 1] != ']') {
    fail(text_.find(']', piece.begin) + 1, "unexpected text after the list", "expected ','");
  }
  const Piece body = inside({piece.begin + 1, piece.end - 1});
  std::string list = "[";
  for (std::size_t at = body.begin; at < body.end;) {
    std::size_t end = at;
    while (end < body.end && text_[end] != ',') {
      const bool quote = text_[end] == '"' || text_[end] == '\'';
      end = quote ? skip_quoted(end) : end + 1;
    }
    const Piece item = inside({at, end});
    if (item.begin == item.end) fail(at, "an element is missing here");
    list += (list.size() > 1 ? ", " : "") + read_item(item);
    at = end + 1;
  }
  return list + "]";
}

std::string ValueReader::read_item(const Piece& piece) const {
  const std::string text = text_of(piece);
  if (text[0] == '"' || text[0] == '\'') return text;
  if (text == "true" || text == "True") return "true";
  if (text == "false" || text == "False") return "false";
  if (const std::string number = toml_number(text); !number.empty()) return number;
  const bool number = std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || std::string_view("+-.eE_").find(c) != std::string_view::npos;
  });
  return number && std::any_of(text.begin(), text.end(), is_digit) ? text : to_toml(Value(text));
}

// Splits at the commas of the outermost object. The text is valid JSON.
std::vector<Piece> ValueReader::split_members(std::size_t begin, std::size_t end) const {
  std::vector<Piece> pieces;
  int depth = 0;
  std::size_t start = begin;
  for (std::size_t at = begin; at < end;) {
    const char c = text_[at];
    if (c == '"') {
      at = skip_quoted(at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      pieces.push_back({start, at});
      start = at + 1;
    }
    ++at;
  }
  if (const Piece last = inside({start, end}); last.begin < last.end) pieces.push_back(last);
  return pieces;
}

std::vector<Override> ValueReader::json() {
  try {
    const auto parsed = nlohmann::json::parse(text_);
    if (!parsed.is_object()) fail(0, "the JSON text is not an object");
  } catch (const nlohmann::json::parse_error& error) {
    fail(error.byte > 0 ? std::min(error.byte - 1, text_.size()) : 0, "the text is not JSON");
  }
  if (const auto deep = find_too_deep_nesting(text_)) fail(*deep, "the text is nested too deeply");
  std::vector<Override> overrides;
  std::set<std::string> taken;
  add_members({text_.find('{'), text_.rfind('}') + 1}, {}, overrides, taken);
  return overrides;
}

// One override for each value: members that an object does not name are kept. At the top a key may
// be a path.
void ValueReader::add_members(const Piece& object, const std::string& path,
                              std::vector<Override>& overrides,
                              std::set<std::string>& taken) const {
  for (const Piece& piece : split_members(object.begin + 1, object.end - 1)) {
    const Piece member = inside(piece);
    const std::size_t behind = skip_quoted(member.begin);
    const std::string key = value_from_json(text_of({member.begin, behind}), "key").as_string();
    const bool is_path = path.empty() && key.find('.') != std::string::npos;
    const std::string here = is_path ? key : joined_path(path, key);
    if (!taken.insert(here).second) fail(member.begin, "the key '" + key + "' is given twice");
    const Piece value = inside({text_.find(':', behind) + 1, member.end});
    const Piece body = inside({value.begin + 1, value.end - 1});
    if (text_[value.begin] == '{' && body.begin < body.end) {
      add_members(value, here, overrides, taken);
      continue;
    }
    // '+' allows new keys in free tables. In other tables, unknown keys are still an error.
    Override made{"+" + here + "=", shown_, kOption.size() + member.begin};
    made.value_shift = value.begin - member.begin;
    made.value = none_for_null(value_from_json(text_of(value), "value"));
    made.is_lower = true;
    overrides.push_back(std::move(made));
  }
}

Override ValueReader::make_override(const Piece& key, const Piece& value,
                                    const std::string& value_text) const {
  Override made{text_of(key) + "=" + value_text, shown_, kOption.size() + key.begin};
  made.value_at = key.end - key.begin + 1;
  made.value_shift = value.begin - key.end - 1;
  made.is_lower = true;
  return made;
}

}  // namespace

std::string toml_number(const std::string& text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto digits = [&] {
    std::string run;
    while (at < text.size() && is_digit(text[at])) run += text[at++];
    return run;
  };
  const std::string sign = text.substr(0, at), whole = digits();
  if (at == text.size() || text[at] != '.') return {};
  ++at;
  const std::string part = digits();
  if (whole.empty() && part.empty()) return {};
  if (!whole.empty() && !part.empty()) return {};
  std::string exponent;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    exponent = text[at++];
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) exponent += text[at++];
    const std::string power = digits();
    if (power.empty()) return {};
    exponent += power;
  }
  if (at != text.size()) return {};
  return sign + (whole.empty() ? "0" : whole) + "." + (part.empty() ? "0" : part) + exponent;
}

ParamsOverride parse_params_override(const std::string& text) {
  const std::string plain(trim(text));
  if (plain.empty()) return {};
  ValueReader reader(text);
  if (plain[0] == '{') return {.overrides = reader.json()};
  std::error_code ignored;
  if (plain.find('=') != std::string::npos) return {.overrides = reader.pairs()};
  if (std::filesystem::exists(plain, ignored)) return {.file = plain};
  const std::string shown = std::string(kOption) + text;
  throw ConfigError(
      Diagnostic{override_origin({text, shown, kOption.size()}, 1, text.find_first_not_of(kBlanks)),
                 {},
                 "the text is neither key=value pairs, nor JSON text, nor a file",
                 "for example trainer.train_steps=100, seed=3"});
}

}  // namespace trivet
