// SPDX-License-Identifier: Apache-2.0
#include "data/formats/tfrecord_reader.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <set>

#include <protozero/pbf_reader.hpp>

#include "trivet/config/digest.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

using Reader = protozero::pbf_reader;

template <class T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
std::string decimal(T number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string_view view(const protozero::data_view& data) {
  return {data.data(), data.size()};
}

// Getters expect the type of the data: every field is matched by tag and type, and fields of
// another type are skipped.
constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;

// A list of numbers may be packed or not. Both forms mean the same list.
template <class T, class One, class Packed>
std::optional<std::string> first_number(Reader list, protozero::pbf_wire_type single, One one,
                                        Packed packed) {
  while (list.next(1)) {
    if (list.wire_type() == single) return decimal<T>((list.*one)());
    if (list.wire_type() != kBytes) {
      list.skip();
      continue;
    }
    const auto values = (list.*packed)();
    if (!values.empty()) return decimal<T>(*values.begin());
  }
  return std::nullopt;
}

void read_feature(std::string_view name, Reader feature, std::vector<std::string>& numbers,
                  std::vector<SourceExample::Feature>& features) {
  std::optional<std::string_view> text;
  std::optional<std::string> number;
  while (feature.next()) {
    if (feature.wire_type() != kBytes || feature.tag() > 3) {
      feature.skip();
      continue;
    }
    const auto tag = feature.tag();
    Reader list = feature.get_message();
    if (tag == 1) {
      if (list.next(1, kBytes)) text = view(list.get_view());
    } else if (tag == 2) {
      number = first_number<float>(list, protozero::pbf_wire_type::fixed32, &Reader::get_float,
                                   &Reader::get_packed_float);
    } else {
      number = first_number<std::int64_t>(list, protozero::pbf_wire_type::varint,
                                          &Reader::get_int64, &Reader::get_packed_int64);
    }
  }
  if (!text && number) {
    numbers.push_back(*number);
    text = numbers.back();
  }
  if (text) features.push_back({name, *text});
}

void read_features(Reader map, std::vector<std::string>& numbers,
                   std::vector<SourceExample::Feature>& features) {
  while (map.next(1, kBytes)) {
    Reader entry = map.get_message();
    std::string_view name;
    Reader feature;
    while (entry.next()) {
      if (entry.wire_type() != kBytes) {
        entry.skip();
      } else if (entry.tag() == 1) {
        name = view(entry.get_view());
      } else if (entry.tag() == 2) {
        feature = entry.get_message();
      } else {
        entry.skip();
      }
    }
    read_feature(name, feature, numbers, features);
  }
}

std::size_t count_features(Reader example) {
  std::size_t count = 0;
  while (example.next(1, kBytes)) {
    Reader map = example.get_message();
    while (map.next()) map.skip(), ++count;
  }
  return count;
}

// A map has each name once. Readers disagree about which of two entries counts.
void check_names(const std::vector<SourceExample::Feature>& features, const std::string& location) {
  std::set<std::string_view> names;
  for (const SourceExample::Feature& feature : features) {
    if (names.insert(feature.name).second) continue;
    throw InputError(location + ": has the feature '" + std::string(feature.name) + "' twice");
  }
}

}  // namespace

bool TfRecordReader::next(std::string_view& record) {
  if (!next_unchecked(record)) return false;
  check_record(record, location());
  return true;
}

bool TfRecordReader::next_unchecked(std::string_view& record) {
  if (rest_.empty()) return false;
  ++number_;
  constexpr std::size_t kFrame = 16;  // length, its checksum, the checksum of the bytes
  if (rest_.size() < kFrame) throw InputError(location() + ": is cut off");
  const auto length = number_at<std::uint64_t>(rest_, 0);
  if (number_at<std::uint32_t>(rest_, 8) != masked_crc32c(rest_.substr(0, 8))) {
    throw InputError(
        location() + ": the checksum of its length is wrong",
        {.hint = number_ == 1 ? "is this a TFRecord file, and not compressed with zlib?"
                              : "the file is damaged"});
  }
  if (length > rest_.size() - kFrame) {
    throw InputError(location() + ": is cut off: it has " + std::to_string(length) +
                     " bytes, but only " + std::to_string(rest_.size() - kFrame) + " follow");
  }
  record = rest_.substr(12, length);
  rest_.remove_prefix(kFrame + length);
  return true;
}

void check_record(std::string_view record, const std::string& location) {
  std::uint32_t checksum;
  std::memcpy(&checksum, record.data() + record.size(), sizeof checksum);
  if (checksum == masked_crc32c(record)) return;
  throw InputError(location + ": its checksum is wrong", {.hint = "the file is damaged"});
}

void read_example(std::string_view record, const std::string& location,
                  std::vector<std::string>& numbers,
                  std::vector<SourceExample::Feature>& features) {
  numbers.clear();
  features.clear();
  const protozero::data_view bytes(record.data(), record.size());
  try {
    numbers.reserve(count_features(Reader(bytes)));  // views point into it
    Reader example(bytes);
    while (example.next(1, kBytes)) read_features(example.get_message(), numbers, features);
    check_names(features, location);
  } catch (const protozero::exception& failure) {
    throw InputError(location + ": is not a tf.Example: " + failure.what());
  }
}

}  // namespace trivet::data
