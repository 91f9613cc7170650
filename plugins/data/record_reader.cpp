// SPDX-License-Identifier: Apache-2.0
#include "record_reader.h"

#include <bit>
#include <boost/crc.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>

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

// Lists of numbers may be packed or not; both are the same list.
template <class T, class One, class Packed>
std::optional<std::string> first_number(Reader list, protozero::pbf_wire_type single, One one,
                                        Packed packed) {
  while (list.next(1)) {
    if (list.wire_type() == single) return decimal<T>((list.*one)());
    const auto values = (list.*packed)();
    if (!values.empty()) return decimal<T>(*values.begin());
  }
  return std::nullopt;
}

void read_feature(std::string_view name, Reader feature, std::vector<std::string>& numbers,
                  std::vector<SourceExample::Feature>& features) {
  std::optional<std::string> number;
  while (feature.next()) {
    switch (feature.tag()) {
      case 1: {
        Reader list = feature.get_message();
        if (list.next(1)) features.push_back({name, view(list.get_view())});
        break;
      }
      case 2:
        number = first_number<float>(feature.get_message(), protozero::pbf_wire_type::fixed32,
                                     &Reader::get_float, &Reader::get_packed_float);
        break;
      case 3:
        number = first_number<std::int64_t>(feature.get_message(), protozero::pbf_wire_type::varint,
                                            &Reader::get_int64, &Reader::get_packed_int64);
        break;
      default:
        feature.skip();
    }
  }
  if (!number) return;
  numbers.push_back(*number);
  features.push_back({name, numbers.back()});
}

void read_features(Reader map, std::vector<std::string>& numbers,
                   std::vector<SourceExample::Feature>& features) {
  while (map.next(1)) {
    Reader entry = map.get_message();
    std::string_view name;
    Reader feature;
    while (entry.next()) {
      if (entry.tag() == 1) {
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
  while (example.next(1)) {
    Reader map = example.get_message();
    while (map.next()) map.skip(), ++count;
  }
  return count;
}

}  // namespace

std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<std::uint32_t>(crc.checksum()), 15) + 0xA282EAD8u;
}

bool RecordReader::next(std::string_view& record) {
  if (rest_.empty()) return false;
  ++number_;
  constexpr std::size_t kFrame = 16;  // length, its checksum, the checksum of the bytes
  if (rest_.size() < kFrame) throw InputError(place() + ": is cut off");
  const auto length = number_at<std::uint64_t>(rest_, 0);
  if (number_at<std::uint32_t>(rest_, 8) != masked_crc(rest_.substr(0, 8)))
    throw InputError(place() + ": the checksum of its length is wrong",
                     {.hint = number_ == 1 ? "is this a TFRecord file, and not compressed?"
                                           : "the file is damaged"});
  if (length > rest_.size() - kFrame)
    throw InputError(place() + ": is cut off: it has " + std::to_string(length) +
                     " bytes, of which " + std::to_string(rest_.size() - kFrame) + " are there");
  const std::string_view bytes = rest_.substr(12, length);
  if (number_at<std::uint32_t>(rest_, 12 + length) != masked_crc(bytes))
    throw InputError(place() + ": its checksum is wrong", {.hint = "the file is damaged"});
  rest_.remove_prefix(kFrame + length);
  record = bytes;
  return true;
}

void read_example(std::string_view record, const std::string& place,
                  std::vector<std::string>& numbers,
                  std::vector<SourceExample::Feature>& features) {
  numbers.clear();
  features.clear();
  const protozero::data_view bytes(record.data(), record.size());
  try {
    numbers.reserve(count_features(Reader(bytes)));  // views point into it
    Reader example(bytes);
    while (example.next(1)) read_features(example.get_message(), numbers, features);
  } catch (const protozero::exception& failure) {
    throw InputError(place + ": is no tf.Example: " + failure.what());
  }
}

}  // namespace trivet::data
