// SPDX-License-Identifier: Apache-2.0
// RecordFile: a file of records in TFRecord framing, which TensorBoard reads. A record is
//
//   u64 length, u32 masked CRC-32C of these 8 bytes, the bytes, u32 masked CRC-32C of the bytes
//
// little-endian. Format: TensorFlow, tensorflow/core/lib/io/record_writer.h; the mask is
// rotate_right(crc, 15) + 0xa282ead8.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "trivet/os/file.h"

namespace trivet::tensorboard {

enum class RecordIs {
  counted,
  head,  // of those behind it: it stays where one of them does
  late,
};

// Cuts a file off before the first record that is late, or that is not whole, and heads before that
// with it. One without a record that counts goes. Throws RunError.
void cut_records(const std::filesystem::path& path,
                 const std::function<RecordIs(std::string_view record)>& judge);

class RecordFile {
 public:
  // A new file; one of this name must not be there. Throws RunError when it cannot be made.
  explicit RecordFile(std::filesystem::path path);

  // The record is with the system on return, so that it survives this process. Throws RunError with
  // the system's reason, and cuts off what it has written of the record.
  void append(std::string_view record);
  void sync();  // on the disk

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  std::string frame_;  // kept for its memory
};

}  // namespace trivet::tensorboard
