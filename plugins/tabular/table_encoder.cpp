// SPDX-License-Identifier: Apache-2.0
#include "table_encoder.h"

#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet::tabular {
namespace {

std::map<std::string_view, std::int32_t> number_texts(const std::vector<std::string>& texts,
                                                      std::int32_t first) {
  std::map<std::string_view, std::int32_t> ids;
  for (const std::string& text : texts) ids.emplace(text, first++);
  return ids;
}

// Finds columns by name; a table may have very many.
class ColumnIndex {
 public:
  explicit ColumnIndex(const TableInput& table) : table_(table) {
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      indices_.emplace(table.columns()[i], i);
    }
  }
  // Like column_named().
  std::size_t of(const std::string& name) const {
    const auto found = indices_.find(name);
    if (found != indices_.end()) return found->second;
    return column_named(name, table_.columns(), table_.file());
  }

 private:
  const TableInput& table_;
  std::unordered_map<std::string_view, std::size_t> indices_;
};

}  // namespace

float single(const TableRow& row, const std::string& column, double value) {
  const auto rounded = static_cast<float>(value);
  if (std::isfinite(rounded)) return rounded;
  throw row.error(column, "the number is too large",
                  "models work with 32-bit numbers, up to 3.4e38");
}

TableEncoder::TableEncoder(std::shared_ptr<const Encoding> encoding, const TableInput& table,
                           Label label)
    : encoding_(std::move(encoding)), classes_(number_texts(encoding_->classes, 0)) {
  const ColumnIndex columns(table);
  if (label == Label::encoded) label_ = columns.of(encoding_->label);
  for (const NumberColumn& column : encoding_->numbers) numbers_.push_back(columns.of(column.name));
  for (const CategoryColumn& column : encoding_->categories) {
    categories_.push_back(columns.of(column.name));
    values_.push_back(number_texts(column.values, kFirstId));
  }
  if (encoding_->number_features() > 0) {
    arrays_.push_back({"numbers", DType::f32, encoding_->number_features()});
  }
  if (!categories_.empty()) {
    arrays_.push_back({"categories", DType::i32, static_cast<std::int64_t>(categories_.size())});
  }
  if (label_) arrays_.push_back({"label", classes_.empty() ? DType::f32 : DType::i32, 0});
}

float TableEncoder::number(const TableRow& row, std::size_t column, const NumberColumn& by) const {
  double value = by.fill;
  if (!row.cells[column].missing) {
    const auto number = row.number_in(column);
    if (!number) {
      throw row.error(by.name, shown_cell(row.cells[column].text) + " is not a number",
                      "in the training rows all values of this column are numbers");
    }
    value = *number;
  }
  return single(row, by.name, (value - by.mean) / by.std);
}

std::int32_t TableEncoder::class_of(const TableRow& row) const {
  const std::string_view text = row.cells[*label_].text;
  const auto found = classes_.find(text);
  if (found != classes_.end()) return found->second;
  throw row.error(encoding_->label, "no training row has the label " + shown_cell(text),
                  suggestion(text, encoding_->classes));
}

float TableEncoder::label_of(const TableRow& row) const {
  const auto number = row.number_in(*label_);
  if (!number) {
    throw row.error(encoding_->label,
                    "the label " + shown_cell(row.cells[*label_].text) + " is not a number");
  }
  single(row, encoding_->label, *number);  // predictions are as large
  return single(row, encoding_->label, (*number - encoding_->label_mean) / encoding_->label_std);
}

void TableEncoder::encode(const TableRow& row, std::span<float> floats,
                          std::span<std::int32_t> integers) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    floats[at++] = number(row, numbers_[i], encoding_->numbers[i]);
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (encoding_->numbers[i].indicator) {
      floats[at++] = row.cells[numbers_[i]].missing ? 1.0F : 0.0F;
    }
  }
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    const TableCell& cell = row.cells[categories_[i]];
    const auto found = values_[i].find(cell.text);
    integers[i] = cell.missing ? kMissingId : found == values_[i].end() ? kUnseenId : found->second;
  }
  if (!label_) return;
  if (row.cells[*label_].missing) {
    throw row.error(encoding_->label, "the label is missing",
                    "drop_missing = [\"" + encoding_->label + "\"] skips such rows");
  }
  if (classes_.empty()) {
    floats[at] = label_of(row);
  } else {
    integers[categories_.size()] = class_of(row);
  }
}

}  // namespace trivet::tabular
