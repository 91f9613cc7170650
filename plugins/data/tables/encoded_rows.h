// SPDX-License-Identifier: Apache-2.0
// EncodedRows: the rows of a table as numbers, 4 bytes each, from which batches are gathered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/tables/csv_table.h"
#include "trivet/data/example_sampler.h"
#include "trivet/extensions/table.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::data {

class EncodedRows {
 public:
  // Encodes all rows of the table, which is not needed afterwards. Throws what the encoder throws.
  EncodedRows(const CsvTable& table, const RowEncoder& encoder);

  // The encoder's arrays of these rows.
  Batch batch(const std::vector<ExampleSampler::Sample>& samples) const;

 private:
  std::vector<RowEncoder::Array> arrays_;
  std::size_t float_width_ = 0, integer_width_ = 0;  // numbers in a row
  std::vector<float> floats_;                        // [rows, float_width_]
  std::vector<std::int32_t> integers_;               // [rows, integer_width_]
};

}  // namespace trivet::data
