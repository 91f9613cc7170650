// SPDX-License-Identifier: Apache-2.0
// The keys of a table come before its sections: in TOML everything after a [section] line belongs
// to that section.
#include "config/toml/toml_writer.h"

#include <algorithm>
#include <string_view>

#include "config/toml/text_checks.h"

namespace trivet {
namespace {

constexpr std::size_t kLineLength = 100;

bool is_table_array(const Value& value) {
  if (!value.is_array() || value.items().empty()) return false;
  return std::all_of(value.items().begin(), value.items().end(),
                     [](const Value& item) { return item.is_table(); });
}

bool is_section(const Value& value) {
  return value.is_table() || is_table_array(value);
}

void require_utf8(std::string_view text, const std::string& path) {
  if (!find_invalid_utf8(text)) return;
  throw Error("this string is not UTF-8 and cannot be written to a config", {.path = path});
}

void check_utf8(const Value& value, const std::string& path) {
  if (value.is_string()) require_utf8(value.as_string(), path);
  if (value.is_array()) {
    std::size_t index = 0;
    for (const Value& item : value.items()) check_utf8(item, joined_path(path, index++));
  }
  if (!value.is_table()) return;
  for (const Value::Member& member : value.members()) {
    require_utf8(member.key, path);
    check_utf8(member.value, joined_path(path, member.key));
  }
}

// A comment is one line of printable text.
std::string comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

class Writer {
 public:
  explicit Writer(const TomlWriterOptions& options) : options_(options) { write_header(); }

  void write_table(const Value& table, const std::string& path) {
    for (const Value::Member& member : table.members()) {
      if (member.value.is_null() || is_section(member.value)) continue;
      write_value(member, path);
    }
    for (const Value::Member& member : table.members()) {
      const std::string inner = joined_path(path, member.key);
      if (member.value.is_table()) write_section(member.value, inner);
      if (is_table_array(member.value)) write_array(member.value, inner);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_header() {
    std::size_t at = 0;
    while (at < options_.header.size()) {
      const std::size_t end = std::min(options_.header.find('\n', at), options_.header.size());
      out_ += "# " + comment(options_.header.substr(at, end - at)) + "\n";
      at = end + 1;
    }
  }

  void write_value(const Value::Member& member, const std::string& path) {
    std::string line = joined_path("", member.key) + " = ";
    const std::string value = to_toml(member.value);
    const bool folded = member.value.is_array() && line.size() + value.size() > kLineLength;
    line += folded ? folded_array(member.value) : value;
    out_ += line;
    write_meaning(member.value, joined_path(path, member.key));
    write_origin(member.value.origin());
  }

  // Only for single references: in a list or table, the comment would be ambiguous.
  void write_meaning(const Value& value, const std::string& path) {
    if (options_.meanings == nullptr || !value.is_string()) return;
    if (value.as_string().find("${") == std::string::npos) return;
    const Value* meaning = options_.meanings->find_path(path);
    if (meaning == nullptr || meaning->is_table() || meaning->is_array()) return;
    const std::string text = to_toml(*meaning);
    if (text.size() <= kLineLength) out_ += "  # " + comment(text);
  }

  // One element per line. Inline tables must stay on one line.
  static std::string folded_array(const Value& array) {
    std::string text = "[\n";
    for (const Value& item : array.items()) text += "  " + to_toml(item) + ",\n";
    return text + "]";
  }

  void write_origin(const Origin& origin) {
    if (options_.origins && origin.known()) out_ += "  # " + comment(to_string(origin));
    out_ += '\n';
  }

  // A table that contains only sections needs no title line.
  void write_section(const Value& table, const std::string& path) {
    const Value::Table& members = table.members();
    const bool only_sections =
        !members.empty() && std::all_of(members.begin(), members.end(),
                                        [](const auto& m) { return is_section(m.value); });
    if (!only_sections) write_title("[" + path + "]");
    write_table(table, path);
  }

  void write_array(const Value& array, const std::string& path) {
    for (const Value& item : array.items()) {
      write_title("[[" + path + "]]");
      write_table(item, path);
    }
  }

  void write_title(const std::string& title) {
    if (!out_.empty()) out_ += '\n';
    out_ += title + "\n";
  }

  const TomlWriterOptions& options_;
  std::string out_;
};

}  // namespace

std::string write_toml(const Value& table, const TomlWriterOptions& options) {
  check_utf8(table, {});
  Writer writer(options);
  writer.write_table(table, {});
  return writer.take();
}

}  // namespace trivet
