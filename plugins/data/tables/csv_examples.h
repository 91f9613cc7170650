// SPDX-License-Identifier: Apache-2.0
// CsvExamples: rows of a table that a user gives to be predicted, as they come: a file, or standard
// input. The file has the form of the input's own: delimiter, header, missing values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_config.h"
#include "data/tables/csv_table.h"
#include "trivet/os/line_stream.h"

namespace trivet::data {

class CsvExamples {
 public:
  // Waits for the header, or for the first row if there is none. `config` selects no rows here.
  CsvExamples(CsvConfig config, const std::string& file);

  const std::string& name() const { return lines_.name(); }
  const std::vector<std::string>& columns() const { return columns_; }

  // The next rows: waits for one, and takes up to `most` that have come. Nothing at the end. Throws
  // InputError with file and line.
  std::optional<CsvTable> next(std::int64_t most);

 private:
  // The text of a record, which may have several lines.
  struct Record {
    std::string text;
    std::int64_t line = 0;
  };
  std::optional<Record> next_record();

  CsvConfig config_;
  LineStream lines_;
  std::vector<std::string> columns_;
  std::optional<Record> pending_;  // the first row, read for the number of columns
  std::int64_t rows_ = 0;          // given so far
};

}  // namespace trivet::data
