// SPDX-License-Identifier: Apache-2.0
// How an input of rows and columns of text (a CSV file) and the task that knows what the columns
// mean work together. The input reads text and puts rows in order; the task looks at all of them
// once, decides how they become numbers, and gives the input an encoder, which makes its batches.
//
// Example (sdk/examples/snippets/table_task.cpp#build_inputs):
//
//   std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
//                                       InputContext& context) override {
//     std::unique_ptr<Input> input = make(config, context);
//     TableInput* table = table_of(*input);  // null: an input of another kind
//     if (table == nullptr) throw Error(context.name + " has no rows and columns");
//     double sum = 0;
//     table->scan([&](const TableRow& row) { sum += row.number_in(0).value_or(0); });
//     table->set_encoder(std::make_shared<CenteredEncoder>(sum / table->rows()));
//     return input;
//   }
//
// data/Csv is such an input; tabular/Regression and tabular/Classification are such tasks. Either
// side can be replaced by a plugin of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/error.h"
#include "trivet/input.h"

namespace trivet {

// Id for Input::extension; what it returns points to a TableInput.
inline constexpr std::string_view kInputTable = "trivet.input.table/1";

struct TableCell {
  std::string_view text;
  bool missing = false;  // the text says that there is no value ("", "NA", as configured)
};

// One row of a table, as in the file. Valid until the next row is read.
struct TRIVET_API TableRow {
  std::span<const TableCell> cells;  // one a column
  const std::string* file = nullptr;
  std::int64_t line = 0;    // of the file, where the row starts, from 1
  std::int64_t number = 0;  // of the row, without header and empty lines, from 1
  char decimal_mark = '.';

  // The number in a cell, spaces around it allowed; nothing for other text, and for what is not
  // finite or does not fit a double.
  std::optional<double> number_in(std::size_t column) const;
  // What to throw for a cell: "FILE:LINE: row 3, column 'age': WHAT".
  InputError error(std::string_view column, const std::string& what, std::string hint = {}) const;
};

// Turns rows into the arrays of a batch. Never changes once an input has it.
class TRIVET_API RowEncoder {
 public:
  struct Array {
    std::string name;        // in the batch; "weight" is the input's own
    DType dtype;             // f32 or i32
    std::int64_t width = 0;  // [batch, width], or [batch] for 0
  };

  virtual ~RowEncoder();
  // In the order in which encode() writes them. [input-thread]
  virtual const std::vector<Array>& arrays() const = 0;
  // Writes one row: `floats` has room for the f32 arrays, one after the other, `integers` for the
  // i32 ones. Throws TableRow::error for a row that cannot be encoded. [input-thread]
  virtual void encode(const TableRow& row, std::span<float> floats,
                      std::span<std::int32_t> integers) const = 0;
};

class TableInput {
 public:
  // Of the table, for messages. [run-thread]
  virtual const std::string& file() const = 0;
  // Names of the columns, in the order of the file. [run-thread]
  virtual const std::vector<std::string>& columns() const = 0;
  // Rows that scan() visits. [run-thread]
  virtual std::int64_t rows() const = 0;

  // Calls `visit` with each of the rows that this input reads, in the order of the file: those
  // of all hosts, without the rows it leaves out. Before set_encoder, batches_per_epoch and
  // get_next. [run-thread]
  virtual void scan(const std::function<void(const TableRow&)>& visit) = 0;
  // Once, before batches_per_epoch and get_next. Encodes all rows at once, so that a row that
  // cannot be encoded is found before the run trains. Without an encoder all columns must be
  // numbers, and batches have "numbers" f32 [batch, columns]. [run-thread]
  virtual void set_encoder(std::shared_ptr<const RowEncoder> encoder) = 0;

 protected:
  ~TableInput() = default;
};

// Where the named column stands. Throws InputError with the nearest names when there is none.
TRIVET_API std::size_t column_named(std::string_view name, const std::vector<std::string>& columns,
                                    const std::string& file);

// The text of a cell for a message: in quotes, cut when it is long.
TRIVET_API std::string shown_cell(std::string_view text);

// The input as a table, or null.
inline TableInput* table_of(Input& input) {
  // Extensions are asked of const objects, too; this one belongs to an object that is not.
  return static_cast<TableInput*>(const_cast<void*>(input.extension(kInputTable)));
}

}  // namespace trivet
