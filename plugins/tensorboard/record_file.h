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
  head,  // applies to the records after it: stays if one of them does
  late,
};

// Cuts a file before the first late or incomplete record, together with heads directly before it.
// Removes a file without a record to keep. Throws RunError.
void cut_records(const std::filesystem::path& path,
                 const std::function<RecordIs(std::string_view record)>& judge);

class RecordFile {
 public:
  // Creates a new file. Throws RunError if that fails or the file exists.
  explicit RecordFile(std::filesystem::path path);

  // The system has the record when this returns, so the record survives this process. Throws
  // RunError with the system's reason, and removes a partly written record.
  void append(std::string_view record);
  void sync();  // on the disk

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  std::string frame_;  // kept for its memory
};

}  // namespace trivet::tensorboard
