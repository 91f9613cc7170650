// SPDX-License-Identifier: Apache-2.0
// IDX files (Y. LeCun, "The MNIST database", file format): 0, 0, type, number of axes, the extents
// as big-endian 32-bit numbers, then the elements in row-major order. Only bytes (type 8) are read;
// the file may be gzip or zstd.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/formats/memory.h"

namespace trivet::data {

class IdxFile {
 public:
  // Reads the header only, also of a compressed file. Throws InputError if the file is not an IDX
  // file of bytes, or has more than `limit` bytes when decompressed.
  IdxFile(std::string name, std::int64_t limit);

  const std::string& name() const { return name_; }
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::int64_t records() const { return extents_[0]; }
  std::int64_t record_bytes() const { return record_bytes_; }

  // Decompresses the file or reads it into memory. Call once. Throws InputError with file and
  // record.
  void load();
  // Valid after load(): records() * record_bytes() bytes.
  std::span<const std::uint8_t> elements() const { return memory_.bytes().subspan(header_bytes_); }

 private:
  void read_header(std::span<const std::uint8_t> front, std::int64_t limit);
  void check_size(std::uint64_t file_bytes) const;

  std::string name_;
  Memory memory_;
  bool gzip_ = false, zstd_ = false;
  std::vector<std::int64_t> extents_;
  std::int64_t record_bytes_ = 1;
  std::uint64_t header_bytes_ = 0, total_bytes_ = 0;
};

}  // namespace trivet::data
