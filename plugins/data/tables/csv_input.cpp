// SPDX-License-Identifier: Apache-2.0
#include "data/tables/csv_input.h"

#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {
namespace {

// Encodes all columns as plain numbers.
class NumbersEncoder final : public RowEncoder {
 public:
  explicit NumbersEncoder(std::vector<std::string> columns)
      : columns_(std::move(columns)),
        arrays_{{"numbers", DType::f32, static_cast<std::int64_t>(columns_.size())}} {}

  const std::vector<Array>& arrays() const override { return arrays_; }

  void encode(const TableRow& row, std::span<float> floats,
              std::span<std::int32_t>) const override {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::optional<double> number = row.number_in(i);
      floats[i] = number ? static_cast<float>(*number) : 0;
      if (number && std::isfinite(floats[i])) continue;
      throw row.error(columns_[i], shown_cell(row.cells[i].text) + " is not a number",
                      "without a task for tables all columns must be numbers");
    }
  }

 private:
  std::vector<std::string> columns_;
  std::vector<Array> arrays_;
};

}  // namespace

void CsvConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  const bool one = delimiter.size() == 1 && static_cast<unsigned char>(delimiter[0]) < 128;
  if (!one || std::string_view("\"\r\n\0", 4).find(delimiter[0]) != std::string_view::npos) {
    diagnostics.add("delimiter", "must be one ASCII character other than a quote or line end",
                    R"(",", ";", "\t" and "|" are usual)");
  } else if (delimiter == decimal_mark) {
    diagnostics.add("decimal_mark", "is also the delimiter",
                    "files with decimal commas have delimiter = \";\"");
  }
}

CsvInput::CsvInput(const Config& config, InputContext& context)
    : name_(context.name), batch_size_(config.batch_size) {
  if (!context.examples.empty()) {
    examples_.emplace(config, context.examples);
    file_ = examples_->name();
    columns_ = examples_->columns();
    return;
  }
  table_.emplace(config);
  file_ = table_->file();
  columns_ = table_->columns();
  order_.emplace(config, context.phase, table_->rows(), file_);
}

const void* CsvInput::extension(std::string_view id) const noexcept {
  if (id == kInputTable) return static_cast<const TableInput*>(this);
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

ExampleSampler& CsvInput::order() {
  if (!order_) throw Error(name_ + ": examples to predict come once, in their order");
  return *order_;
}

const ExampleSampler& CsvInput::order() const {
  return const_cast<CsvInput&>(*this).order();
}

const CsvTable& CsvInput::table() const {
  if (!table_) throw Error(name_ + ": the rows of " + file_ + " are encoded already");
  return *table_;
}

void CsvInput::encode(const RowEncoder& encoder) const {
  encoded_.emplace(table(), encoder);
  table_.reset();
}

const EncodedRows& CsvInput::encoded() const {
  if (!encoded_) encode(NumbersEncoder(columns_));
  return *encoded_;
}

void CsvInput::scan(const std::function<void(const TableRow&)>& visit) {
  table().scan(visit);
}

void CsvInput::set_encoder(std::shared_ptr<const RowEncoder> encoder) {
  if (examples_) {
    encoder_ = std::move(encoder);
  } else {
    encode(*encoder);
  }
}

std::optional<std::int64_t> CsvInput::batches_per_epoch() const {
  if (examples_) return std::nullopt;
  encoded();
  return order().batches_per_epoch();
}

std::optional<Batch> CsvInput::get_next() {
  if (examples_) return next_examples();
  const EncodedRows& rows = encoded();
  if (!order_->next(samples_)) return std::nullopt;
  Batch batch = rows.batch(samples_);
  batch.set("weight", order_->weights(samples_));
  return batch;
}

std::optional<Batch> CsvInput::next_examples() {
  if (!encoder_) encoder_ = std::make_shared<NumbersEncoder>(columns_);
  const std::optional<CsvTable> table = examples_->next(batch_size_);
  if (!table) return std::nullopt;
  samples_.clear();
  locations_.clear();
  table->scan([&](const TableRow& row) {
    samples_.push_back({.example = std::ssize(samples_)});
    locations_.push_back(file_ + ":" + std::to_string(row.line));
  });
  return EncodedRows(*table, *encoder_).batch(samples_);
}

}  // namespace trivet::data
