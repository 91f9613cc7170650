// SPDX-License-Identifier: Apache-2.0
// Helpers that write CSV files and read them with data/Csv.
#pragma once

#include <string>
#include <vector>

#include "data/tables/csv_input.h"
#include "support/shell.h"
#include "trivet/error.h"

namespace trivet::test {

// One file in its own folder, and the config that reads it.
class CsvFile {
 public:
  explicit CsvFile(const std::string& text) : file_(dir_.write("table.csv", text)) {
    config.file = file_.string();
    config.batch_size = 4;
  }
  data::CsvInput input(Phase phase = Phase::training) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  void rewrite(const std::string& text) const { dir_.write("table.csv", text); }
  const std::filesystem::path& path() const { return file_; }
  const std::filesystem::path& folder() const { return dir_.path(); }

  data::CsvConfig config;

 private:
  TempDir dir_;
  std::filesystem::path file_;
};

using Cells = std::vector<std::vector<std::string>>;

// The texts of all rows that the input selects.
inline Cells cells_of(data::CsvInput input) {
  Cells rows;
  input.scan([&](const TableRow& row) {
    rows.emplace_back();
    for (const TableCell& cell : row.cells) rows.back().emplace_back(cell.text);
  });
  return rows;
}

// The message of the InputError that `body` throws; empty without one. Any other error fails the
// test.
template <class F>
std::string complaint_of(F&& body) {
  try {
    body();
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

// The error message of reading all rows of the file.
inline std::string complaint_about(const CsvFile& file) {
  return complaint_of([&] { cells_of(file.input()); });
}

}  // namespace trivet::test
