// SPDX-License-Identifier: Apache-2.0
#include "cli/view/sweep_columns.h"

#include <algorithm>

#include "trivet/config/json.h"

namespace trivet {
namespace {

// Removes a quoted string without escapes from the front.
bool take_text(std::string_view& json, std::string& text) {
  const std::size_t end = json.starts_with('"') ? json.find('"', 1) : std::string_view::npos;
  if (end == std::string_view::npos) return false;
  text = json.substr(1, end - 1);
  json.remove_prefix(end + 1);
  return true;
}

// Parses a table of names with simple strings, numbers and words. Most sweeps are such tables, and
// listings read thousands. Returns false for other tables.
bool read_flat(std::string_view json, SweepCells& cells) {
  if (json.find_first_of("\\[ ") != std::string_view::npos) return false;
  if (json.size() < 2 || json.rfind('{') != 0 || json.find('}') != json.size() - 1) return false;
  json.remove_prefix(1);
  while (json.size() > 1) {
    auto& [name, text] = cells.emplace_back();
    if (!take_text(json, name) || !json.starts_with(':')) return false;
    json.remove_prefix(1);
    if (!take_text(json, text)) {
      const std::size_t end = json.find_first_of(",}");
      text = json.substr(0, end);
      json.remove_prefix(end);
    }
    if (json.starts_with(',')) json.remove_prefix(1);
  }
  return true;
}

}  // namespace

SweepCells sweep_cells(const Value& sweep) {
  SweepCells cells;
  for (const Value::Member& member : sweep.members()) {
    const Value& value = member.value;
    cells.emplace_back(member.key, value.is_string() ? value.as_string() : to_json(value));
  }
  return cells;
}

SweepCells sweep_cells_from_json(std::string_view json) {
  SweepCells cells;
  if (read_flat(json, cells)) return cells;
  return sweep_cells(value_from_json(json, "the index"));
}

void add_sweep_names(const SweepCells& cells, std::vector<std::string>& names) {
  for (const auto& cell : cells) {
    if (std::find(names.begin(), names.end(), cell.first) == names.end()) {
      names.push_back(cell.first);
    }
  }
}

std::string sweep_cell(const SweepCells& cells, const std::string& name) {
  for (const auto& [known, text] : cells) {
    if (known == name) return text;
  }
  return "-";
}

}  // namespace trivet
