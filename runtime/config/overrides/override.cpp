// SPDX-License-Identifier: Apache-2.0
#include "config/overrides/override.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/overrides/params_override.h"
#include "config/toml/text_checks.h"
#include "config/toml/toml_reader.h"

namespace trivet {
namespace {

using Form = FieldType::Form;
using Kind = OverrideStep::Kind;

// A name and an index for each level of nesting.
constexpr std::size_t kMostSteps = 2 * kDeepestNesting;

class OverrideParser {
 public:
  OverrideParser(const Override& given, int number)
      : given_(given), text_(given.text), number_(number) {}

  ParsedOverride parse() {
    if (const auto bad = find_invalid_utf8(text_)) fail(*bad, "the text is not UTF-8");
    ParsedOverride parsed;
    if (text_.starts_with('+')) parsed.action = ParsedOverride::Action::add;
    if (text_.starts_with('~')) parsed.action = ParsedOverride::Action::remove;
    at_ = parsed.action == ParsedOverride::Action::set ? 0 : 1;
    parse_path(parsed.steps);
    const bool has_value = at_ < text_.size();
    if (parsed.action == ParsedOverride::Action::remove) {
      if (has_value) fail(at_, "~ removes a value and takes no '='");
      return parsed;
    }
    if (!has_value && given_.is_bare) {
      parsed.value = "true";
      parsed.value_at = at_;
      return parsed;
    }
    if (!has_value) fail(at_, "'=' and a value are missing", "an override looks like a.b=value");
    parsed.value_at = at_ + 1;
    parsed.value = text_.substr(parsed.value_at);
    return parsed;
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string what, std::string hint = {}) const {
    throw ConfigError(Diagnostic{override_origin(given_, number_, at),
                                 {},
                                 "bad override: " + std::move(what),
                                 std::move(hint)});
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '='; }

  void parse_path(std::vector<OverrideStep>& steps) {
    if (peek() == '=') fail(at_, "the path before '=' is missing");
    for (;;) {
      if (steps.size() == kMostSteps) {
        fail(at_, "more than " + std::to_string(kMostSteps) + " parts", "no config is that deep");
      }
      steps.push_back(peek() == '[' ? parse_index(steps.empty()) : parse_name());
      if (peek() == '=') return;
      if (peek() == '[') continue;
      if (peek() != '.') fail(at_, "expected '.', '[' or '=' here");
      ++at_;
      if (peek() == '[') fail(at_, "a name is missing after '.'");
    }
  }

  OverrideStep parse_name() {
    OverrideStep step;
    step.at = at_;
    if (peek() == '"' || peek() == '\'') {
      step.name = parse_quoted();
      return step;
    }
    while (at_ < text_.size() &&
           std::string_view(".[=]\"' ").find(text_[at_]) == std::string::npos) {
      step.name += text_[at_++];
    }
    if (step.name.empty()) fail(at_, "a name is missing");
    if (step.name == "**") {
      step.kind = Kind::any_depth;
    } else if (step.name.find('*') != std::string::npos) {
      step.kind = Kind::name_glob;
    }
    return step;
  }

  std::string parse_quoted() {
    const char quote = text_[at_];
    const std::size_t begin = at_++;
    std::string name;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_++];
    }
    if (at_ == text_.size()) fail(begin, "this quote is not closed");
    ++at_;
    return name;
  }

  OverrideStep parse_index(bool first) {
    OverrideStep step;
    step.at = at_;
    if (first) fail(at_, "a path starts with a name");
    const std::size_t close = text_.find(']', at_);
    if (close == std::string::npos) fail(at_, "']' is missing");
    const std::string_view inside = std::string_view(text_).substr(at_ + 1, close - at_ - 1);
    step.kind = inside == "*" ? Kind::any_index : Kind::index;
    if (step.kind == Kind::index) {
      const std::size_t sign = inside.starts_with('-') ? 1 : 0;
      if (sign == 1) step.kind = Kind::index_from_end;
      const char* end = inside.data() + inside.size();
      const auto result = std::from_chars(inside.data() + sign, end, step.index);
      if (result.ec != std::errc{} || result.ptr != end || step.index < sign) {
        fail(at_ + 1,
             "brackets contain the index of an element, from 0 or, from the end, from -1; or *");
      }
    }
    at_ = close + 1;
    return step;
  }

  const Override& given_;
  const std::string& text_;
  int number_;
  std::size_t at_ = 0;
};

bool is_quoted(const std::string& text) {
  return text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
}

Value read_free(const std::string& text) {
  return try_read_toml_value(text).value_or(text);
}

// Text for a string field: raw, or in quotes as in a file.
Value value_from_text(const std::string& text) {
  return is_quoted(text) ? read_free(text) : Value(text);
}

bool looks_like_number(const std::string& text) {
  const std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// Whether a text without quotes has another type: 5, true, [1], .5, null.
bool reads_as_other(const std::string& text) {
  constexpr std::array<std::string_view, 6> kWords{"True", "False", "null", "None", "none", ""};
  if (is_quoted(text) || !toml_number(text).empty() || text.starts_with('{') ||
      std::find(kWords.begin(), kWords.end(), text) != kWords.end()) {
    return true;
  }
  return try_read_toml_value(text).has_value();
}

std::string form_hint(Form form) {
  switch (form) {
    case Form::boolean:
      return "write true or false";
    case Form::integer:
      return "write an integer";
    case Form::floating:
      return "write a number such as 0.5 or 1e-3";
    case Form::list:
      return "write a list as in a file: [1, 2] or [\"a\", \"b\"]";
    default:
      return "write a table as in a file: {a = 1, b = \"x\"}";
  }
}

}  // namespace

bool needs_matching(std::string_view path) {
  return path.find('*') != std::string_view::npos || path.find("[-") != std::string_view::npos;
}

Origin override_origin(const Override& given, int number, std::size_t at) {
  if (given.value) {
    const std::size_t behind = at >= given.text.size() ? given.value_shift : 0;
    const TextPosition location = location_of(given.shown, given.offset + behind);
    return {.file = kCommandLine, .line = number, .column = location.column, .note = given.shown};
  }
  const std::size_t shift = at >= given.value_at ? given.value_shift : 0;
  const TextPosition location = location_of(given.shown, given.offset + at + shift);
  return {.file = kCommandLine, .line = number, .column = location.column, .note = given.shown};
}

ParsedOverride parse_override(const Override& given, int number) {
  return OverrideParser(given, number).parse();
}

namespace {

// Translates YAML's words to TOML, if the field is not a string.
std::string without_yaml_words(const std::string& text, const SchemaNode& node) {
  const Form form = node.type != nullptr ? node.type->form : Form::value;
  const bool optional = node.type != nullptr && (node.type->optional || form == Form::config);
  if (optional && (text == "null" || text == "None")) return "none";
  // These words do not name files; a file of such a name is written in quotes.
  const bool none = text == "null" || text == "None" || text == "none";
  if (form == Form::path && none && !optional) return R"("")";
  if (form == Form::string || form == Form::path) return text;
  const bool truth = form == Form::boolean || form == Form::value;
  if (truth && text == "True") return "true";
  if (truth && text == "False") return "false";
  const std::string number = toml_number(text);
  return number.empty() ? text : number;
}

// 1e5 and 10.0 for an integer field: exactly that integer.
Value whole(Value value, const SchemaNode& node) {
  const bool wanted = node.type != nullptr && node.type->form == Form::integer;
  constexpr double kLargest = 9007199254740992.0;  // 2^53: all integers up to here are exact
  if (!wanted || !value.is_float()) return value;
  const double number = value.as_float();
  if (!(std::fabs(number) <= kLargest) || number != std::floor(number)) return value;
  const Origin origin = value.origin();
  Value integer = static_cast<std::int64_t>(number);
  integer.set_origin(origin);
  return integer;
}

Value read_as_written(const std::string& text, const SchemaNode& node) {
  if (text.starts_with("${") && text.ends_with('}')) return text;
  if (node.type == nullptr || node.type->form == Form::value) return read_free(text);
  const Form form = node.type->form;
  const bool plain = form == Form::string || form == Form::path || form == Form::choice;
  if (plain || (node.type->optional && text == "none")) return value_from_text(text);
  if (form == Form::quantity) {
    return looks_like_number(text) ? read_free(text) : value_from_text(text);
  }
  if (form == Form::config && !text.starts_with('{') && !looks_like_number(text)) {
    return value_from_text(text);
  }
  try {
    return read_toml_value(text);
  } catch (const ConfigError& error) {
    Diagnostic problem = error.diagnostics().front();
    problem.what = "'" + text + "' is not " +
                   (form == Form::boolean    ? "true or false"
                    : form == Form::integer  ? "an integer"
                    : form == Form::floating ? "a number"
                    : form == Form::list     ? "a list"
                                             : "a table");
    problem.hint = form_hint(form);
    throw ConfigError(std::move(problem));
  }
}

}  // namespace

Value read_override_value(const std::string& text, const SchemaNode& node) {
  return whole(read_as_written(without_yaml_words(text, node), node), node);
}

Value override_value(const Override& given, const ParsedOverride& parsed, const SchemaNode& node) {
  if (given.value) return whole(*given.value, node);
  const Form form = node.type != nullptr ? node.type->form : Form::value;
  if (given.is_bare && form != Form::boolean && form != Form::value) {
    throw ConfigError(Diagnostic{
        {}, {}, "this option needs a value after '='", "write " + given.shown + "=VALUE"});
  }
  return read_override_value(parsed.value, node);
}

std::string override_value_text(const Value& value) {
  const bool plain = value.is_string() && !reads_as_other(value.as_string());
  return plain ? value.as_string() : to_toml(value);
}

}  // namespace trivet
