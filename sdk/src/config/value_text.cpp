// SPDX-License-Identifier: Apache-2.0
// Values and dotted paths as text.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "trivet/config/value.h"

namespace trivet {
namespace {

bool is_bare(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (!plain) return false;
  }
  return true;
}

std::string toml_quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

void append(std::string& out, const Value& value) {
  switch (value.type()) {
    case Value::Type::null:
      out += "\"none\"";
      return;
    case Value::Type::boolean:
      out += value.as_boolean() ? "true" : "false";
      return;
    case Value::Type::integer:
      out += std::to_string(value.as_integer());
      return;
    case Value::Type::floating:
      out += float_text(value.as_float());
      return;
    case Value::Type::string:
      out += toml_quoted(value.as_string());
      return;
    case Value::Type::array: {
      out += '[';
      const char* separator = "";
      for (const Value& item : value.items()) {
        out += separator;
        append(out, item);
        separator = ", ";
      }
      out += ']';
      return;
    }
    case Value::Type::table: {
      out += '{';
      const char* separator = "";
      for (const Value::Member& member : value.members()) {
        if (member.value.is_null()) continue;
        out += separator + (is_bare(member.key) ? member.key : toml_quoted(member.key)) + " = ";
        append(out, member.value);
        separator = ", ";
      }
      out += '}';
      return;
    }
  }
}

[[noreturn]] void throw_bad_path(std::string_view path, const char* why) {
  throw Error("'" + std::string(path) + "' is not a path: " + why,
              {.hint = "a path looks like a.b[2].c; a name with other characters is quoted"});
}

// The text of a quoted step; `at` is the opening quote and is moved past the closing one.
std::string read_quoted(std::string_view path, std::size_t& at) {
  std::string name;
  for (++at; at < path.size() && path[at] != '"'; ++at) {
    if (path[at] == '\\' && ++at == path.size()) break;
    name += path[at];
  }
  if (at >= path.size()) throw_bad_path(path, "a quote is not closed");
  ++at;
  return name;
}

std::int64_t read_index(std::string_view path, std::size_t& at) {
  std::int64_t index = -1;
  const char* first = path.data() + at + 1;
  const auto [end, error] = std::from_chars(first, path.data() + path.size(), index);
  const std::size_t close = static_cast<std::size_t>(end - path.data());
  if (error != std::errc{} || index < 0 || close >= path.size() || path[close] != ']') {
    throw_bad_path(path, "brackets hold a number that is not negative");
  }
  at = close + 1;
  return index;
}

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  std::string text = fmt::format("{}", number);
  if (std::isfinite(number) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string to_toml(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string joined_path(std::string_view parent, std::string_view name) {
  std::string path(parent);
  if (!path.empty()) path += '.';
  return path + (is_bare(name) ? std::string(name) : toml_quoted(name));
}

std::string joined_path(std::string_view parent, std::size_t index) {
  return std::string(parent) + "[" + std::to_string(index) + "]";
}

std::vector<PathStep> split_path(std::string_view path) {
  std::vector<PathStep> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      steps.push_back({.index = read_index(path, at)});
    } else {
      PathStep step;
      if (path[at] == '"') {
        step.name = read_quoted(path, at);
      } else {
        const std::size_t end = std::min(path.find_first_of(".[\"", at), path.size());
        step.name = path.substr(at, end - at);
        at = end;
      }
      if (step.name.empty()) throw_bad_path(path, "a name is missing");
      steps.push_back(std::move(step));
    }
    if (at == path.size() || path[at] == '[') continue;
    if (path[at] != '.') throw_bad_path(path, "a dot is missing");
    if (++at == path.size()) throw_bad_path(path, "it ends with a dot");
    if (path[at] == '[') throw_bad_path(path, "a name is missing");
  }
  return steps;
}

}  // namespace trivet
