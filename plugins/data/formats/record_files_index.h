// SPDX-License-Identifier: Apache-2.0
// Where each record of TFRecord files is, for reading them in any order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/memory.h"

namespace trivet::data {

class RecordFilesIndex {
 public:
  // Maps plain files, which must not shrink while they are open, and decompresses those of gzip or
  // zstd into memory: `limit` bytes together at most. Reads the lengths of all records. Files
  // without bytes have no records. Throws InputError for files that are cut off or damaged, and
  // where there is no record.
  RecordFilesIndex(const std::vector<std::string>& files, std::uint64_t limit);

  const std::string& name() const { return name_; }  // of all files, for messages
  std::int64_t records() const { return std::ssize(records_); }
  // Throws InputError if its checksum is wrong.
  std::string_view record(std::int64_t index) const;
  std::string location(std::int64_t index) const;  // "a.tfrecord, record 3"
  // Whether it is the first record of its file.
  bool begins_file(std::int64_t index) const;

 private:
  struct File {
    std::string name;
    Memory memory;
    std::int64_t first = 0;  // index of its first record
  };
  struct Record {
    std::size_t file = 0;
    std::uint64_t offset = 0, size = 0;
  };
  const Record& at(std::int64_t index) const { return records_[static_cast<std::size_t>(index)]; }

  std::string name_;
  std::vector<File> files_;
  std::vector<Record> records_;
};

}  // namespace trivet::data
