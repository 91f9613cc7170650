// SPDX-License-Identifier: Apache-2.0
#include "data/tables/encoded_rows.h"

#include <algorithm>
#include <span>

namespace trivet::data {
namespace {

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

EncodedRows::EncodedRows(const CsvTable& table, const RowEncoder& encoder)
    : arrays_(encoder.arrays()) {
  for (const RowEncoder::Array& array : arrays_) {
    (array.dtype == DType::i32 ? integer_width_ : float_width_) += width_of(array);
  }
  const auto rows = static_cast<std::size_t>(table.rows());
  floats_.resize(rows * float_width_);
  integers_.resize(rows * integer_width_);
  std::size_t i = 0;
  table.scan([&](const TableRow& row) {
    encoder.encode(row, std::span(floats_).subspan(i * float_width_, float_width_),
                   std::span(integers_).subspan(i * integer_width_, integer_width_));
    ++i;
  });
}

Batch EncodedRows::batch(const std::vector<ExampleSampler::Sample>& samples) const {
  Batch batch;
  std::size_t next_float = 0, next_integer = 0;
  for (const RowEncoder::Array& array : arrays_) {
    if (array.dtype == DType::i32) {
      batch.set(array.name, gather(integers_, integer_width_, next_integer, array, samples));
      next_integer += width_of(array);
    } else {
      batch.set(array.name, gather(floats_, float_width_, next_float, array, samples));
      next_float += width_of(array);
    }
  }
  return batch;
}

}  // namespace trivet::data
