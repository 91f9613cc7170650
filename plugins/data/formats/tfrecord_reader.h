// SPDX-License-Identifier: Apache-2.0
// Records of a TFRecord file and the features of tf.Example in them.
//
// A record is u64 length, u32 masked CRC-32C of these 8 bytes, the bytes, u32 masked CRC-32C of the
// bytes, little-endian; the mask is rotate_right(crc, 15) + 0xa282ead8 (TensorFlow,
// core/lib/io/record_writer.h). tf.Example is a protocol buffer (core/example/example.proto):
//
//   message Example   { Features features = 1; }
//   message Features  { map<string, Feature> feature = 1; }
//   message Feature   { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }
//   message BytesList { repeated bytes value = 1; }    FloatList: float, Int64List: int64
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/data_source.h"

namespace trivet::data {

// Reads the records of a file's bytes, in order.
class TfRecordReader {
 public:
  TfRecordReader(std::string_view bytes, std::string file) : rest_(bytes), file_(std::move(file)) {}

  // Returns false at the end. Throws InputError with file and record if a record is truncated or
  // damaged.
  bool next(std::string_view& record);
  // The same, and checks only the length of the record.
  bool next_unchecked(std::string_view& record);
  std::string location() const { return file_ + ", record " + std::to_string(number_); }

 private:
  std::string_view rest_;
  std::string file_;
  std::int64_t number_ = 0;  // of the last record, from 1
};

// Throws InputError with `location` if the checksum of a record, which follows it in its file, is
// wrong.
void check_record(std::string_view record, const std::string& location);

// Reads the first value of each feature, numbers in decimal; skips features without a value. The
// texts are views into `record` and `numbers`. Throws InputError with `location` if `record` is not
// a tf.Example.
void read_example(std::string_view record, const std::string& location,
                  std::vector<std::string>& numbers, std::vector<SourceExample::Feature>& features);

}  // namespace trivet::data
