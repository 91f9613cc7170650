// SPDX-License-Identifier: Apache-2.0
// Reads TensorBoard event files, for tests of their writers. Written from the formats alone
// (TFRecord framing, protocol buffer wire format, TensorBoard's .proto files) and shares no code
// with any writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::test {

struct EventHistogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits, counts;
};

struct EventImage {
  std::int64_t height = 0, width = 0, colorspace = 0;
  std::string file;  // encoded
};

struct EventValue {
  std::string tag;
  std::string plugin;  // from its metadata
  std::optional<float> number;
  std::optional<EventHistogram> histogram;
  std::optional<EventImage> image;
  std::optional<std::string> text;  // of a tensor of strings
};

struct Event {
  double time = 0;
  std::int64_t step = 0;
  std::string version;         // of the first event of a file
  bool session_start = false;  // a SessionLog with the status START
  std::vector<EventValue> values;
};

// The payloads of a record file. Throws std::runtime_error if a length or a checksum is wrong.
std::vector<std::string> read_records(const std::filesystem::path& file);

// The events of an event file. Throws std::runtime_error for anything that is not one.
std::vector<Event> read_events(const std::filesystem::path& file);

// The event files of a directory in the order of their names, which is how TensorBoard reads them.
std::vector<std::filesystem::path> event_files(const std::filesystem::path& directory);

}  // namespace trivet::test
