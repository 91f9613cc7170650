// SPDX-License-Identifier: Apache-2.0
#include "data/tables/csv_input.h"

#include <algorithm>
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

std::size_t width_of(const RowEncoder::Array& array) {
  return static_cast<std::size_t>(std::max<std::int64_t>(array.width, 1));
}

// Gathers columns from `begin` on of the rows of the samples.
template <class T>
Tensor gather(const std::vector<T>& rows, std::size_t row_width, std::size_t begin,
              const RowEncoder::Array& array, const std::vector<ExampleSampler::Sample>& samples) {
  const auto batch = static_cast<std::int64_t>(samples.size());
  Tensor tensor =
      Tensor::host(array.width == 0 ? Shape{batch} : Shape{batch, array.width}, dtype_of<T>);
  auto to = tensor.template mutable_span<T>().begin();
  for (const auto& sample : samples) {
    const T* from = rows.data() + static_cast<std::size_t>(sample.example) * row_width + begin;
    to = std::copy_n(from, width_of(array), to);
  }
  return tensor;
}

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
    : name_(context.name),
      table_(std::in_place, config),
      file_(table_->file()),
      columns_(table_->columns()),
      order_(config, context.phase, table_->rows(), file_) {}

const void* CsvInput::extension(std::string_view id) const noexcept {
  if (id == kInputTable) return static_cast<const TableInput*>(this);
  return Input::extension(id);
}

CsvTable& CsvInput::table() {
  if (!table_) throw Error(name_ + ": the rows of " + file_ + " are encoded already");
  return *table_;
}

void CsvInput::scan(const std::function<void(const TableRow&)>& visit) {
  table().scan(visit);
}

void CsvInput::set_encoder(std::shared_ptr<const RowEncoder> encoder) {
  table();
  encoder_ = std::move(encoder);
}

void CsvInput::encode() {
  if (!encoder_) encoder_ = std::make_shared<NumbersEncoder>(columns_);
  for (const RowEncoder::Array& array : encoder_->arrays()) {
    (array.dtype == DType::i32 ? integer_width_ : float_width_) += width_of(array);
  }
  const auto rows = static_cast<std::size_t>(order_.examples());
  floats_.resize(rows * float_width_);
  integers_.resize(rows * integer_width_);
  std::size_t i = 0;
  table_->scan([&](const TableRow& row) {
    encoder_->encode(row, std::span(floats_).subspan(i * float_width_, float_width_),
                     std::span(integers_).subspan(i * integer_width_, integer_width_));
    ++i;
  });
  table_.reset();
}

std::optional<Batch> CsvInput::get_next() {
  if (table_) encode();
  if (!order_.next(samples_)) return std::nullopt;
  Batch batch;
  std::size_t next_float = 0, next_integer = 0;
  for (const RowEncoder::Array& array : encoder_->arrays()) {
    if (array.dtype == DType::i32) {
      batch.set(array.name, gather(integers_, integer_width_, next_integer, array, samples_));
      next_integer += width_of(array);
    } else {
      batch.set(array.name, gather(floats_, float_width_, next_float, array, samples_));
      next_float += width_of(array);
    }
  }
  batch.set("weight", order_.weights(samples_));
  return batch;
}

}  // namespace trivet::data
