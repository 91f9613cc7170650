// SPDX-License-Identifier: Apache-2.0
#include "data/sources/jsonl_files.h"

#include <algorithm>
#include <utility>

#include "data/formats/file_list.h"
#include "data/formats/input_bytes.h"
#include "data/sources/json_line.h"

namespace trivet::data {
JsonlFiles::JsonlFiles(const Config& config)
    : files_(list_files(config.files)), name_(summary_of(files_)) {}

std::uint64_t JsonlFiles::bytes() const {
  return bytes_of(files_);
}

void JsonlFiles::read(const Visit& visit) {
  JsonLine json;
  for (const std::string& file : files_) {
    if (is_empty(file)) continue;
    const Memory memory = read_input(file);
    std::string_view text = text_in(memory);
    for (std::int64_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view content = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      json.take(content, file + ":" + std::to_string(line));
      visit(json.example());
    }
  }
}

}  // namespace trivet::data
