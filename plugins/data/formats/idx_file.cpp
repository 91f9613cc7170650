// SPDX-License-Identifier: Apache-2.0
#include "data/formats/idx_file.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "data/formats/gzip.h"
#include "trivet/backend/backend.h"
#include "trivet/error.h"
#include "trivet/os/input_file.h"

namespace trivet::data {
namespace {

constexpr std::size_t kMostHeaderBytes = 4 + 4 * TV_MAX_RANK;

std::string hex(std::span<const std::uint8_t> bytes) {
  std::ostringstream text;
  text << std::hex;
  for (const std::uint8_t byte : bytes) text << (byte < 16 ? "0" : "") << static_cast<int>(byte);
  return text.str();
}

std::string type_name(std::uint8_t type) {
  switch (type) {
    case 0x08:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "16-bit integers";
    case 0x0c:
      return "32-bit integers";
    case 0x0d:
      return "32-bit floats";
    case 0x0e:
      return "64-bit floats";
    default:
      return "type " + std::to_string(type);
  }
}

std::vector<std::uint8_t> zstd_front(std::span<const std::uint8_t> file, std::size_t size,
                                     const std::string& name) {
  std::vector<std::uint8_t> front(size);
  front.resize(InputFile(file, name).read({reinterpret_cast<char*>(front.data()), size}));
  return front;
}

// Decompresses the whole file to exactly `size` bytes, so a small one cannot exhaust memory.
Memory unzstd(std::span<const std::uint8_t> file, std::uint64_t size, const std::string& name) {
  Memory memory = Memory::allocate(size, name);
  InputFile input(file, name);
  const std::size_t done = input.read({reinterpret_cast<char*>(memory.data()), size});
  if (done < size) {
    throw InputError(name + ": cut off: it has " + std::to_string(done) + " of the " +
                     std::to_string(size) + " bytes that its header declares");
  }
  char more = 0;
  if (input.read({&more, 1}) > 0) {
    throw InputError(name + ": holds more than the " + std::to_string(size) +
                     " bytes that its header declares");
  }
  return memory;
}

std::int64_t big_endian(std::span<const std::uint8_t> bytes) {
  return std::int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

}  // namespace

IdxFile::IdxFile(std::string name, std::int64_t limit)
    : name_(std::move(name)),
      memory_(Memory::map(name_)),
      gzip_(is_gzip(memory_.bytes())),
      zstd_(compression_of(memory_.bytes()) == Compression::zstd) {
  const auto file = memory_.bytes();
  if (gzip_) {
    read_header(gunzip_front(file, kMostHeaderBytes), limit);
  } else if (zstd_) {
    read_header(zstd_front(file, kMostHeaderBytes, name_), limit);
  } else {
    read_header(file.first(std::min(file.size(), kMostHeaderBytes)), limit);
    check_size(file.size());
  }
}

void IdxFile::read_header(std::span<const std::uint8_t> front, std::int64_t limit) {
  const std::string cut = name_ + ": cut off within its header" +
                          (gzip_   ? " (gzip data)"
                           : zstd_ ? " (zstd data)"
                                   : "");
  if (front.size() < 4) throw InputError(cut);
  if (front[0] != 0 || front[1] != 0) {
    throw InputError(name_ + ": not an IDX file: it starts with " + hex(front.first(4)) +
                     ", expected 000008..");
  }
  if (front[2] != 0x08) {
    throw InputError(name_ + ": has " + type_name(front[2]) + "; only unsigned bytes are read");
  }
  const std::size_t axes = front[3];
  if (axes < 1 || axes > TV_MAX_RANK) {
    throw InputError(name_ + ": has " + std::to_string(axes) + " axes; expected 1 to " +
                     std::to_string(TV_MAX_RANK));
  }
  header_bytes_ = 4 + 4 * axes;
  if (front.size() < header_bytes_) throw InputError(cut);
  std::int64_t total = 1;
  bool overflow = false;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    extents_.push_back(big_endian(front.subspan(4 + 4 * axis, 4)));
    overflow = overflow || __builtin_mul_overflow(total, extents_.back(), &total);
    // Checked for each factor too: without examples the product of all is 0.
    overflow = overflow ||
               (axis > 0 && __builtin_mul_overflow(record_bytes_, extents_.back(), &record_bytes_));
  }
  if (overflow || total > limit - static_cast<std::int64_t>(header_bytes_)) {
    throw InputError(name_ + ": declares " + (overflow ? "more than 2^63" : std::to_string(total)) +
                         " bytes, more than the limit of " + std::to_string(limit),
                     {.hint = "set `limit` higher if the file is what you expect"});
  }
  if (extents_[0] > 0 && record_bytes_ == 0) {
    throw InputError(name_ + ": its examples have no elements");
  }
  total_bytes_ = header_bytes_ + static_cast<std::uint64_t>(total);
}

void IdxFile::check_size(std::uint64_t file_bytes) const {
  if (file_bytes > total_bytes_) {
    throw InputError(name_ + ": " + std::to_string(file_bytes - total_bytes_) +
                     " bytes follow the last of " + std::to_string(records()) + " records");
  }
  if (file_bytes < total_bytes_) {
    throw InputError(
        name_ + ": cut off in record " +
        std::to_string((file_bytes - header_bytes_) / static_cast<std::uint64_t>(record_bytes_)) +
        " of " + std::to_string(records()) + " (byte " + std::to_string(file_bytes) + " of " +
        std::to_string(total_bytes_) + ")");
  }
}

void IdxFile::load() {
  if (gzip_) memory_ = gunzip(memory_.bytes(), total_bytes_, name_);
  if (zstd_) memory_ = unzstd(memory_.bytes(), total_bytes_, name_);
  memory_.populate();
}

}  // namespace trivet::data
