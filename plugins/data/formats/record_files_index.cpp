// SPDX-License-Identifier: Apache-2.0
#include "data/formats/record_files_index.h"

#include <utility>

#include "data/formats/decompressed_limit.h"
#include "data/formats/file_list.h"
#include "data/formats/input_bytes.h"
#include "data/formats/tfrecord_reader.h"
#include "trivet/error.h"

namespace trivet::data {

RecordFilesIndex::RecordFilesIndex(const std::vector<std::string>& files, std::uint64_t limit)
    : name_(summary_of(files)) {
  DecompressedLimit together(name_, limit);
  for (const std::string& file : files) {
    if (is_empty(file)) continue;
    MappedInput input = map_input(file, limit);
    together.add(input.decompressed);
    const std::string_view bytes = text_in(input.memory);
    TfRecordReader reader(bytes, file);
    files_.push_back({file, std::move(input.memory), records()});
    for (std::string_view record; reader.next_unchecked(record);) {
      records_.push_back({files_.size() - 1,
                          static_cast<std::uint64_t>(record.data() - bytes.data()), record.size()});
    }
  }
  if (records_.empty()) throw InputError(name_ + ": has no records");
}

std::string_view RecordFilesIndex::record(std::int64_t index) const {
  const Record& one = at(index);
  const std::string_view record = text_in(files_[one.file].memory).substr(one.offset, one.size);
  check_record(record, location(index));
  return record;
}

std::string RecordFilesIndex::location(std::int64_t index) const {
  const File& file = files_[at(index).file];
  return file.name + ", record " + std::to_string(index - file.first + 1);
}

bool RecordFilesIndex::begins_file(std::int64_t index) const {
  return files_[at(index).file].first == index;
}

}  // namespace trivet::data
