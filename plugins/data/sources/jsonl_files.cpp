// SPDX-License-Identifier: Apache-2.0
#include "data/sources/jsonl_files.h"

#include <algorithm>
#include <utility>

#include "data/formats/file_list.h"
#include "data/formats/input_bytes.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// A longer line is an error, as in CsvReader.
constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

// The texts are views into `value`, or into `numbers` for values without a text of their own.
void features_of(const Value& value, std::vector<std::string>& numbers,
                 std::vector<SourceExample::Feature>& features) {
  features.clear();
  numbers.clear();
  numbers.reserve(value.members().size());
  for (const Value::Member& member : value.members()) {
    const Value& content = member.value;
    if (content.is_string()) {
      features.push_back({member.key, content.as_string()});
    } else if (content.is_boolean() || content.is_integer() || content.is_float()) {
      numbers.push_back(to_json(content));
      features.push_back({member.key, numbers.back()});
    }
  }
}

}  // namespace

JsonlFiles::JsonlFiles(const Config& config)
    : files_(list_files(config.files)), name_(summary_of(files_)) {}

std::uint64_t JsonlFiles::bytes() const {
  return bytes_of(files_);
}

void JsonlFiles::read(const Visit& visit) {
  std::vector<std::string> numbers;
  SourceExample example;
  for (const std::string& file : files_) {
    if (is_empty(file)) continue;
    const Memory memory = read_input(file);
    std::string_view text = text_in(memory);
    for (std::int64_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view content = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      example.location = file + ":" + std::to_string(line);
      if (content.size() > kMostLineBytes) {
        throw InputError(
            example.location + ": is longer than " + std::to_string(kMostLineBytes >> 20) + " MiB",
            {.hint = "is a line end missing? each line must be one JSON object"});
      }
      const Value value = [&] {
        try {
          return value_from_json(content, example.location);
        } catch (const RunError& error) {
          throw InputError(error.message(), {.hint = "each line must be a complete JSON object"});
        }
      }();
      if (!value.is_table()) throw InputError(example.location + ": is not a JSON object");
      features_of(value, numbers, example.features);
      visit(example);
    }
  }
}

}  // namespace trivet::data
