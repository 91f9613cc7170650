// SPDX-License-Identifier: Apache-2.0
#include "support/event_file.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "support/shell.h"

namespace trivet::test {
namespace {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

// RFC 3720, bit by bit: the reflected polynomial 0x1EDC6F41 is 0x82F63B78.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0x82F63B78 & (0 - (crc & 1)));
  }
  return ~crc;
}

void check_sum(std::string_view bytes, std::string_view stored) {
  const std::uint32_t crc = crc32c(bytes);
  const std::uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
  if (masked != little_endian(stored)) throw std::runtime_error("a checksum of a record is wrong");
}

std::string_view take(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) throw std::runtime_error("cut off: less is there than a length says");
  const std::string_view front = rest.substr(0, count);
  rest.remove_prefix(count);
  return front;
}

std::uint64_t take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(rest, 1)[0]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a varint of more than ten bytes");
}

// One field of a message: a raw number, or bytes.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t wire = 0;
  std::uint64_t bits = 0;
  std::string_view bytes;

  std::int64_t integer() const { return static_cast<std::int64_t>(expect(0).bits); }
  double real() const {
    double value = 0;
    std::memcpy(&value, &expect(1).bits, sizeof value);
    return value;
  }
  float single() const {
    const auto low = static_cast<std::uint32_t>(expect(5).bits);
    float value = 0;
    std::memcpy(&value, &low, sizeof value);
    return value;
  }
  std::string_view body() const { return expect(2).bytes; }
  std::string text() const { return std::string(body()); }

  const Field& expect(std::uint64_t type) const {
    if (wire != type) throw std::runtime_error("a field has another wire type than its message");
    return *this;
  }
};

void for_fields(std::string_view message, const std::function<void(const Field&)>& use) {
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    Field field{.number = key >> 3, .wire = key & 7, .bits = 0, .bytes = {}};
    switch (field.wire) {
      case 0:
        field.bits = take_varint(message);
        break;
      case 1:
        field.bits = little_endian(take(message, 8));
        break;
      case 2:
        field.bytes = take(message, take_varint(message));
        break;
      case 5:
        field.bits = little_endian(take(message, 4));
        break;
      default:
        throw std::runtime_error("a wire type that protocol buffers do not have");
    }
    use(field);
  }
}

std::vector<double> packed_doubles(std::string_view bytes) {
  std::vector<double> values;
  while (!bytes.empty()) {
    const std::uint64_t bits = little_endian(take(bytes, 8));
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  }
  return values;
}

EventHistogram to_histogram(std::string_view message) {
  EventHistogram histogram;
  double* const numbers[] = {&histogram.min, &histogram.max, &histogram.num, &histogram.sum,
                             &histogram.sum_squares};
  for_fields(message, [&](const Field& field) {
    if (field.number >= 1 && field.number <= 5) *numbers[field.number - 1] = field.real();
    if (field.number == 6) histogram.limits = packed_doubles(field.body());
    if (field.number == 7) histogram.counts = packed_doubles(field.body());
  });
  return histogram;
}

EventImage to_image(std::string_view message) {
  EventImage image;
  for_fields(message, [&](const Field& field) {
    if (field.number == 1) image.height = field.integer();
    if (field.number == 2) image.width = field.integer();
    if (field.number == 3) image.colorspace = field.integer();
    if (field.number == 4) image.file = field.text();
  });
  return image;
}

// TensorProto: dtype 1, string_val 8. DT_STRING is 7.
std::optional<std::string> to_text(std::string_view message) {
  std::int64_t dtype = 0;
  std::optional<std::string> text;
  for_fields(message, [&](const Field& field) {
    if (field.number == 1) dtype = field.integer();
    if (field.number == 8) text = field.text();
  });
  return dtype == 7 ? text : std::nullopt;
}

std::string plugin_of(std::string_view metadata) {
  std::string name;
  for_fields(metadata, [&](const Field& field) {
    if (field.number != 1) return;
    for_fields(field.body(), [&](const Field& data) {
      if (data.number == 1) name = data.text();
    });
  });
  return name;
}

EventValue event_value_of(std::string_view message) {
  EventValue value;
  for_fields(message, [&](const Field& field) {
    if (field.number == 1) value.tag = field.text();
    if (field.number == 2) value.number = field.single();
    if (field.number == 4) value.image = to_image(field.body());
    if (field.number == 5) value.histogram = to_histogram(field.body());
    if (field.number == 8) value.text = to_text(field.body());
    if (field.number == 9) value.plugin = plugin_of(field.body());
  });
  return value;
}

Event to_event(std::string_view message) {
  Event event;
  for_fields(message, [&](const Field& field) {
    if (field.number == 1) event.time = field.real();
    if (field.number == 2) event.step = field.integer();
    if (field.number == 3) event.version = field.text();
    if (field.number == 5) {
      for_fields(field.body(), [&](const Field& value) {
        if (value.number == 1) event.values.push_back(event_value_of(value.body()));
      });
    }
    if (field.number == 7) {
      for_fields(field.body(), [&](const Field& status) {
        if (status.number == 1) event.session_start = status.integer() == 1;
      });
    }
  });
  return event;
}

}  // namespace

std::vector<std::string> read_records(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  std::string_view rest = content;
  std::vector<std::string> records;
  while (!rest.empty()) {
    const std::string_view length = take(rest, 8);
    check_sum(length, take(rest, 4));
    const std::string_view payload = take(rest, little_endian(length));
    check_sum(payload, take(rest, 4));
    records.emplace_back(payload);
  }
  return records;
}

std::vector<Event> read_events(const std::filesystem::path& file) {
  std::vector<Event> events;
  for (const std::string& record : read_records(file)) events.push_back(to_event(record));
  if (events.empty() || events[0].version != "brain.Event:2") {
    throw std::runtime_error(file.string() + " does not start with the version of event files");
  }
  return events;
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const bool is_event_file =
        entry.path().filename().string().find("tfevents") != std::string::npos;
    if (is_event_file) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace trivet::test
