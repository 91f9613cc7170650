// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/subdir_format.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "launch/braces.h"
#include "trivet/config/digest.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::launch {
namespace {

constexpr std::array<std::string_view, 6> kOfExperiment{"xid",    "name", "title",
                                                        "author", "user", "cell"};
constexpr std::array<std::string_view, 5> kOfUnit{"wid", "unpadded_wid", "sweep_kwargs",
                                                  "separator_if_sweep", "repeat"};

// The value of a built-in placeholder; null for one that is not.
Value built_in(std::string_view name, const DirProperties& properties) {
  if (name == "xid") {
    if (properties.xid > 0) return properties.xid;
    throw Error("{xid} has no value here: numbers are given to experiments below this directory",
                {.hint = "write it in xp.subdir_format.xp_dirname"});
  }
  if (name == "name" || name == "title") return properties.name;
  if (name == "author" || name == "user") return properties.author;
  if (name == "cell") {
    if (!properties.cell.empty()) return properties.cell;
    throw Error("{cell} has no value: the main job names no cell",
                {.path = "xp.subdir_format", .hint = "set xp.cell, or leave {cell} out"});
  }
  if (std::find(kOfUnit.begin(), kOfUnit.end(), name) == kOfUnit.end()) return {};
  if (properties.wid == 0) {
    throw Error(
        fmt::format("{{{}}} is known in work units only, not in the experiment's directory", name),
        {.path = "xp.subdir_format.xp_dirname"});
  }
  if (name == "unpadded_wid") return properties.wid;
  if (name == "repeat") return properties.repeat;
  if (name == "wid") {
    const auto digits = std::to_string(properties.units).size();
    return fmt::format("{:0{}}", properties.wid, digits);
  }
  if (name == "separator_if_sweep") return properties.sweep.args.empty() ? "" : "-";
  return sweep_kwargs(properties.sweep);
}

std::string formatted(const Value& value, std::string_view format) {
  const std::string pattern = "{:" + std::string(format) + "}";
  try {
    if (value.is_integer()) return fmt::format(fmt::runtime(pattern), value.as_integer());
    if (value.is_float()) return fmt::format(fmt::runtime(pattern), value.as_float());
    const std::string text = value.is_string() ? value.as_string() : to_json(value);
    return fmt::format(fmt::runtime(pattern), text);
  } catch (const fmt::format_error& failure) {
    throw Error(fmt::format("'{}' is no format for {}: {}", format, to_json(value), failure.what()),
                {.path = "xp.subdir_format"});
  }
}

// Without what directories cannot bear; blanks in a row become one.
std::string safe_text(const Value& value) {
  const std::string raw = value.is_string() ? value.as_string() : to_json(value);
  std::string text;
  for (char c : raw) {
    // A shell would take them for a pattern.
    if (c == '[') c = '(';
    if (c == ']') c = ')';
    const auto code = static_cast<unsigned char>(c);
    if (c == '*' || c == '%' || c == '/' || c == '\\' || (code < 0x20 && c != '\t') ||
        code == 0x7f) {
      continue;
    }
    if (c == '\t') c = ' ';
    if (c == ' ' && (text.empty() || text.back() == ' ')) continue;
    text += c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

SubdirFormat::~SubdirFormat() = default;

std::vector<std::string> SubdirFormat::own_placeholders() const {
  return {};
}

Value SubdirFormat::own_placeholder(std::string_view name, const DirProperties&) const {
  throw Error("the placeholder {" + std::string(name) + "} has no value");
}

Value SubdirFormat::with_format(std::string_view, std::string_view) const {
  return {};
}

std::string SubdirFormat::expand(std::string_view text, const DirProperties& properties) const {
  return replace_braces(text, [&](const Placeholder& placeholder) -> std::string {
    if (const Value whole = with_format(placeholder.name, placeholder.format); whole.is_string()) {
      return whole.as_string();
    }
    const std::vector<std::string> own = own_placeholders();
    Value value;
    if (std::find(own.begin(), own.end(), placeholder.name) != own.end()) {
      value = own_placeholder(placeholder.name, properties);
    } else {
      value = built_in(placeholder.name, properties);
    }
    if (value.is_null()) {
      std::vector<std::string> known(kOfExperiment.begin(), kOfExperiment.end());
      if (properties.wid > 0) known.insert(known.end(), kOfUnit.begin(), kOfUnit.end());
      known.insert(known.end(), own.begin(), own.end());
      std::string list;
      for (const std::string& name : known) list += (list.empty() ? "{" : ", {") + name + "}";
      throw Error(fmt::format("unknown placeholder {{{}}} in '{}'", placeholder.name, text),
                  {.path = "xp.subdir_format", .hint = "there are " + list});
    }
    return formatted(value, placeholder.format);
  });
}

std::string sweep_kwargs(const SweepItem& sweep) {
  constexpr std::size_t kMost = 127, kHash = 9;  // "-" and 8 digits
  const auto& members = sweep.shown.empty() ? sweep.args : sweep.shown;
  std::string text, whole;
  std::size_t end = 0;  // of the last member that leaves room for the hash
  for (const auto& [name, value] : members) {
    text += (text.empty() ? "" : ",") + safe_text(name) + "=" + safe_text(value);
    whole += name + "=" + to_json(value) + "\n";
    if (text.size() + kHash <= kMost) end = text.size();
  }
  if (text.size() <= kMost) return text;
  // Inside the first member when that alone is too long.
  if (end == 0) end = incomplete_utf8(std::string_view(text).substr(0, kMost - kHash));
  text.resize(end);
  return text + "-" + digest(whole).substr(0, kHash - 1);
}

}  // namespace trivet::launch
