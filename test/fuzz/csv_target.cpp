// SPDX-License-Identifier: Apache-2.0
// An untrusted CSV file: refused, or read as a table. The table written with every cell in quotes
// reads as the same table.
#include "data/tables/csv_table.h"
#include "fuzz_target.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool operator==(const Table&) const = default;
};

Table read(std::string_view bytes, data::CsvConfig config) {
  const MemoryFile given(bytes);
  config.file = given.path().string();
  config.limit = 1 << 20;
  const data::CsvTable csv(config);
  Table table{csv.columns(), {}};
  csv.scan([&](const TableRow& row) {
    promise(row.cells.size() == table.columns.size(), "a row has not a cell for each column");
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      cells.emplace_back(row.cells[i].text);
      row.number_in(i);
    }
  });
  promise(static_cast<std::int64_t>(table.rows.size()) == csv.rows(), "rows are not all visited");
  promise(!table.rows.empty(), "a table has no rows");
  return table;
}

void append(std::string& text, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += i > 0 ? ",\"" : "\"";
    for (const char c : cells[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += '"';
  }
  text += '\n';
}

bool accepts(std::string_view bytes, const data::CsvConfig& config) {
  try {
    const Table table = read(bytes, config);
    std::string again;
    append(again, table.columns);
    for (const auto& row : table.rows) append(again, row);
    promise(again.size() > (1 << 20) || read(again, {}) == table, "a table does not read back");
    return true;
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return false;
  }
}

}  // namespace

bool accepts_csv(std::string_view bytes) {
  data::CsvConfig other;
  other.delimiter = ";";
  other.decimal_mark = ",";
  other.trim = true;
  other.header = false;
  const bool by_commas = accepts(bytes, {}), by_semicolons = accepts(bytes, other);
  return by_commas || by_semicolons;
}

std::vector<std::string> csv_seeds() {
  return {"a,b\n1,x\n2,\"y, z\"\n", "\xEF\xBB\xBFname;price\r\nM\xC3\xBCller;1,5\r\n\"a;b\";2\r\n",
          "n,text\n1,\"two\nlines\"\n\n2,\"say \"\"hi\"\"\"", "one\n-1e-3\nNA\n"};
}

}  // namespace trivet::test
