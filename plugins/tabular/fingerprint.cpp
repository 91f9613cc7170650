// SPDX-License-Identifier: Apache-2.0
#include "fingerprint.h"

#include <array>
#include <cstdio>
#include <vector>

#include "trivet/tensor/random.h"

namespace trivet::tabular {
namespace {

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

void say(std::string& text, const std::string& what) {
  text += (text.empty() ? "" : "; ") + what;
}

}  // namespace

Fingerprint fingerprint_of(TableInput& table) {
  const auto& names = table.columns();
  std::vector<RngKey> keys(names.size(), RngKey(0));
  table.scan([&](const TableRow& row) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = keys[i].fold(row.cells[i].text);
  });
  Fingerprint fingerprint{.rows = table.rows(), .columns = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    fingerprint.columns[names[i]] = hex(keys[i].value());
  }
  return fingerprint;
}

std::string changes(const Fingerprint& before, const Fingerprint& now) {
  std::string text, other;
  if (now.rows != before.rows) {
    say(text, "now " + std::to_string(now.rows) + " rows, before " + std::to_string(before.rows));
  }
  for (const auto& [name, hash] : before.columns) {
    const auto found = now.columns.find(name);
    if (found == now.columns.end()) {
      say(text, "column " + shown_cell(name) + " is missing");
    } else if (found->second != hash) {
      other += (other.empty() ? "" : ", ") + shown_cell(name);
    }
  }
  for (const auto& column : now.columns) {
    if (!before.columns.contains(column.first)) {
      say(text, "column " + shown_cell(column.first) + " is new");
    }
  }
  // If rows differ, all columns differ, which is not informative.
  if (now.rows == before.rows && !other.empty()) say(text, "other values in " + other);
  return text;
}

}  // namespace trivet::tabular
