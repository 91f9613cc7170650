// SPDX-License-Identifier: Apache-2.0
#include "record_file.h"

#include <fcntl.h>

#include <optional>
#include <system_error>
#include <utility>

#include "trivet/config/digest.h"
#include "trivet/os/file.h"

namespace trivet::tensorboard {
namespace {

void put_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

constexpr std::size_t kHead = 12, kTail = 4;  // bytes around a record

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

// Returns the next record of `rest`, which may be empty, or nothing if it is incomplete.
std::optional<std::string_view> next_record(std::string_view rest) {
  if (rest.size() < kHead + kTail) return std::nullopt;
  if (little_endian(rest.substr(8, 4)) != masked_crc32c(rest.substr(0, 8))) return std::nullopt;
  const std::uint64_t size = little_endian(rest.substr(0, 8));
  if (size > rest.size() - kHead - kTail) return std::nullopt;
  const std::string_view record = rest.substr(kHead, size);
  if (little_endian(rest.substr(kHead + size, 4)) != masked_crc32c(record)) return std::nullopt;
  return record;
}

}  // namespace

void cut_records(const std::filesystem::path& path,
                 const std::function<RecordIs(std::string_view record)>& judge) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const std::string text = read_text_file(path, kMost);
  std::size_t at = 0, end = 0;  // end: of the last record to keep
  while (const auto record = next_record(std::string_view(text).substr(at))) {
    const RecordIs is = judge(*record);
    if (is == RecordIs::late) break;
    at += kHead + record->size() + kTail;
    if (is == RecordIs::counted) end = at;
  }
  if (end == text.size() && end > 0) return;
  std::error_code failure;
  if (end > 0) {
    std::filesystem::resize_file(path, end, failure);
  } else {
    std::filesystem::remove(path, failure);
  }
  if (failure) throw_system_error("cut", path, failure.value());
}

RecordFile::RecordFile(std::filesystem::path path)
    : path_(std::move(path)), file_(open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)) {}

void RecordFile::append(std::string_view record) {
  frame_.clear();
  put_little_endian(frame_, record.size(), 8);
  put_little_endian(frame_, masked_crc32c(frame_), 4);
  frame_ += record;
  put_little_endian(frame_, masked_crc32c(record), 4);
  append_all(file_, frame_, path_);
}

void RecordFile::sync() {
  sync_file(file_, path_);
}

}  // namespace trivet::tensorboard
