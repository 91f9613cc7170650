// SPDX-License-Identifier: Apache-2.0
// data/Csv: batches of a CSV file's rows. The task's encoder decides what a batch holds; without an
// encoder all columns must be numbers.
//
// The constructor reads and checks the file. The first get_next encodes it and frees the text;
// batches are then gathered from 4 bytes per number.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/tables/csv_table.h"
#include "trivet/data/example_sampler.h"
#include "trivet/extensions/table.h"
#include "trivet/input.h"

namespace trivet::data {

class CsvInput final : public Input, public TableInput {
 public:
  using Config = CsvConfig;
  CsvInput(const Config& config, InputContext& context);

  std::optional<Batch> get_next() override;
  void reset() override { order_.reset(); }
  Value save_state() const override { return order_.save_state(); }
  void restore_state(const Value& state) override { order_.restore_state(state, name_); }
  std::optional<std::int64_t> batches_per_epoch() const override {
    return order_.batches_per_epoch();
  }
  const void* extension(std::string_view id) const noexcept override;

  const std::string& file() const override { return file_; }
  const std::vector<std::string>& columns() const override { return columns_; }
  std::int64_t rows() const override { return order_.examples(); }
  void scan(const std::function<void(const TableRow&)>& visit) override;
  void set_encoder(std::shared_ptr<const RowEncoder> encoder) override;

 private:
  CsvTable& table();
  void encode();

  std::string name_;
  std::optional<CsvTable> table_;  // until it is encoded
  std::string file_;
  std::vector<std::string> columns_;
  ExampleSampler order_;
  std::shared_ptr<const RowEncoder> encoder_;
  std::size_t float_width_ = 0, integer_width_ = 0;  // numbers in a row
  std::vector<float> floats_;                        // [rows, float_width_]
  std::vector<std::int32_t> integers_;               // [rows, integer_width_]
  std::vector<ExampleSampler::Sample> samples_;
};

}  // namespace trivet::data
