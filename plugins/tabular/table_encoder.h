// SPDX-License-Identifier: Apache-2.0
// The encoder that a tabular task sets on its input. Its arrays, if the table has such columns:
//
//   "numbers"     f32 [batch, numbers and indicators]
//   "categories"  i32 [batch, columns]
//   "label"       i32 [batch] of a classification, f32 [batch], standardized, of a regression
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encoding.h"
#include "trivet/extensions/table.h"

namespace trivet::tabular {

// Converts to 32 bits. Throws TableRow::error if the number is too large.
float single(const TableRow& row, const std::string& column, double value);

class TableEncoder final : public RowEncoder {
 public:
  enum class Label { encoded, ignored };
  // Finds the encoding's columns in the table; ignores others. Throws InputError if one is missing.
  // If the label is ignored, its column need not exist, and batches have no "label".
  TableEncoder(std::shared_ptr<const Encoding> encoding, const TableInput& table,
               Label label = Label::encoded);

  const std::vector<Array>& arrays() const override { return arrays_; }
  void encode(const TableRow& row, std::span<float> floats,
              std::span<std::int32_t> integers) const override;

 private:
  using Ids = std::map<std::string_view, std::int32_t>;
  float number(const TableRow& row, std::size_t column, const NumberColumn& by) const;
  std::int32_t class_of(const TableRow& row) const;
  float label_of(const TableRow& row) const;

  std::shared_ptr<const Encoding> encoding_;
  std::vector<Array> arrays_;
  std::optional<std::size_t> label_;               // its column
  std::vector<std::size_t> numbers_, categories_;  // column indices in the table
  Ids classes_;
  std::vector<Ids> values_;  // for each categorical column
};

}  // namespace trivet::tabular
