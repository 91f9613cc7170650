// SPDX-License-Identifier: Apache-2.0
#include "data/sources/record_files.h"

#include "data/formats/file_list.h"
#include "data/formats/input_bytes.h"
#include "data/formats/tfrecord_reader.h"

namespace trivet::data {

RecordFiles::RecordFiles(const Config& config)
    : files_(list_files(config.files)), name_(summary_of(files_)) {}

std::uint64_t RecordFiles::bytes() const {
  return bytes_of(files_);
}

void RecordFiles::read(const Visit& visit) {
  std::vector<std::string> numbers;
  SourceExample example;
  for (const std::string& file : files_) {
    if (is_empty(file)) continue;
    const Memory memory = read_input(file);
    TfRecordReader reader(text_in(memory), file);
    std::string_view record;
    while (reader.next(record)) {
      example.location = reader.location();
      read_example(record, example.location, numbers, example.features);
      visit(example);
    }
  }
}

}  // namespace trivet::data
