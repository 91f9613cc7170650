// SPDX-License-Identifier: Apache-2.0
// PredictionText: the lines of `trivet predict`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

class PredictionText {
 public:
  static PredictionText json_lines() { return PredictionText(Form::json_lines); }
  // A header before the first line; a table in a column is several columns, "probabilities.cat",
  // and null an empty cell.
  static PredictionText csv() { return PredictionText(Form::csv); }

  // The line of one example, with its end. Throws Error if a line of a table has other columns than
  // the first one.
  std::string line(std::int64_t example, const std::string& location, const Value& columns);

 private:
  enum class Form { json_lines, csv };
  explicit PredictionText(Form form) : form_(form) {}
  std::string csv_line(const Value& columns);

  Form form_;
  std::vector<std::string> header_;
};

}  // namespace trivet
