// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <cstring>

namespace trivet::test {
namespace {

// CRC-32C bit by bit, with the mask of TFRecord.
std::uint32_t masked(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

std::string framed(std::string_view bytes) {
  const std::string length = raw<std::uint64_t>(bytes.size());
  return length + raw(masked(length)) + std::string(bytes) + raw(masked(bytes));
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string bytes_field(int tag, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(tag) << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string bytes_feature(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += bytes_field(1, value);
  return bytes_field(1, list);
}

std::string packed_ints_feature(const std::vector<std::int64_t>& values) {
  std::string packed;
  for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  return bytes_field(3, bytes_field(1, packed));
}

std::string ints_feature(const std::vector<std::int64_t>& values) {
  std::string list;
  for (const std::int64_t value : values) {
    list += varint(1 << 3 | 0) + varint(static_cast<std::uint64_t>(value));
  }
  return bytes_field(3, list);
}

std::string floats_feature(const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) packed += raw(value);
  return bytes_field(2, bytes_field(1, packed));
}

std::string tf_example(const std::vector<std::pair<std::string, std::string>>& features) {
  std::string map;
  for (const auto& [name, feature] : features) {
    map += bytes_field(1, bytes_field(1, name) + bytes_field(2, feature));
  }
  return bytes_field(1, map);
}

}  // namespace trivet::test
