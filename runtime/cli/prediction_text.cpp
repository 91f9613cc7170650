// SPDX-License-Identifier: Apache-2.0
#include "cli/prediction_text.h"

#include <string_view>
#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

using Cell = std::pair<std::string, std::string>;  // column and text

void add_cells(const Value& value, const std::string& column, std::vector<Cell>& cells) {
  if (value.is_table()) {
    for (const Value::Member& member : value.members()) {
      add_cells(member.value, column.empty() ? member.key : column + "." + member.key, cells);
    }
  } else if (value.is_null()) {
    cells.emplace_back(column, "");
  } else {
    cells.emplace_back(column, value.is_string() ? value.as_string() : to_json(value));
  }
}

// RFC 4180.
std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string joined(const std::vector<std::string>& texts) {
  std::string line;
  for (std::size_t i = 0; i < texts.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(texts[i]);
  return line + "\n";
}

}  // namespace

std::string PredictionText::line(std::int64_t example, const std::string& location,
                                 const Value& columns) {
  Value all = Value::table({{"example", example}});
  if (!location.empty()) all.set("source", location);
  for (const Value::Member& member : columns.members()) all.set(member.key, member.value);
  return form_ == Form::json_lines ? to_json(all) + "\n" : csv_line(all);
}

std::string PredictionText::csv_line(const Value& columns) {
  std::vector<Cell> cells;
  add_cells(columns, "", cells);
  std::vector<std::string> names, texts;
  for (auto& [name, text] : cells) {
    names.push_back(std::move(name));
    texts.push_back(std::move(text));
  }
  if (header_.empty()) {
    header_ = names;
    return joined(header_) + joined(texts);
  }
  if (names != header_) {
    throw Error("the predictions of an example have other columns than the first ones",
                {.hint = "print lines of JSON: leave --csv out"});
  }
  return joined(texts);
}

}  // namespace trivet
