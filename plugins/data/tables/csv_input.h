// SPDX-License-Identifier: Apache-2.0
// data/Csv: batches of a CSV file's rows. The task's encoder decides what a batch holds; without an
// encoder all columns must be numbers.
//
// The constructor reads and checks the file. set_encoder encodes it and frees the text; batches are
// then gathered from 4 bytes per number. Without an encoder, the first of batches_per_epoch and
// get_next does this: an input that is opened has no row that cannot be encoded.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/tables/csv_examples.h"
#include "data/tables/csv_table.h"
#include "data/tables/encoded_rows.h"
#include "trivet/data/example_sampler.h"
#include "trivet/extensions/example_locations.h"
#include "trivet/extensions/table.h"
#include "trivet/input.h"

namespace trivet::data {

class CsvInput final : public Input, public TableInput, public ExampleLocations {
 public:
  using Config = CsvConfig;
  CsvInput(const Config& config, InputContext& context);

  std::optional<Batch> get_next() override;
  void reset() override { order().reset(); }
  Value save_state() const override { return order().save_state(); }
  void restore_state(const Value& state) override { order().restore_state(state, name_); }
  std::optional<std::int64_t> batches_per_epoch() const override;
  const void* extension(std::string_view id) const noexcept override;

  const std::string& file() const override { return file_; }
  const std::vector<std::string>& columns() const override { return columns_; }
  std::int64_t rows() const override { return order().examples(); }
  void scan(const std::function<void(const TableRow&)>& visit) override;
  void set_encoder(std::shared_ptr<const RowEncoder> encoder) override;

  std::vector<std::string> locations() const override { return locations_; }

 private:
  std::optional<Batch> next_examples();
  ExampleSampler& order();
  const ExampleSampler& order() const;
  const CsvTable& table() const;
  void encode(const RowEncoder& encoder) const;
  const EncodedRows& encoded() const;

  std::string name_;
  // Mutable for batches_per_epoch; the runtime calls an input from one thread at a time.
  mutable std::optional<CsvTable> table_;  // until it is encoded
  mutable std::optional<EncodedRows> encoded_;
  std::string file_;
  std::vector<std::string> columns_;
  std::optional<ExampleSampler> order_;
  std::vector<ExampleSampler::Sample> samples_;
  // Rows that a user gives, in place of a table of its own.
  std::optional<CsvExamples> examples_;
  std::shared_ptr<const RowEncoder> encoder_;  // of the examples
  std::int64_t batch_size_;
  std::vector<std::string> locations_;
};

}  // namespace trivet::data
