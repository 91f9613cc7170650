// SPDX-License-Identifier: Apache-2.0
// Writes safetensors files. The header is put together by hand, in the order of the entries: the
// same entries must give the same bytes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/safetensors_header.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

std::string json_text(const std::string& text, const std::string& file) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(file + ": the text " + safetensors_quoted(text) + " is not UTF-8");
  }
}

[[noreturn]] void refuse(const std::string& name, const std::string& wrong,
                         const std::string& file) {
  throw Error(file + ": entry " + safetensors_quoted(name) + " " + wrong);
}

void check(const SafetensorsEntry& entry, const std::string& file) {
  if (safetensors_bytes(entry.shape, entry.dtype) == entry.data.size()) return;
  refuse(entry.name,
         "has " + std::to_string(entry.data.size()) + " bytes of data, which does not fit " +
             std::string(name_of(entry.dtype)) + " " + entry.shape.to_string(),
         file);
}

std::string metadata_text(const std::map<std::string, std::string>& metadata,
                          const std::string& file) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    text += (text.empty() ? "" : ",") + json_text(key, file) + ":" + json_text(value, file);
  }
  return "\"" + std::string(kSafetensorsMetadata) + "\":{" + text + "}";
}

// Extents between commas.
std::string extents_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : ",") + std::to_string(extent);
  }
  return text;
}

// The file being written; gone again unless `finish` was reached.
class Output {
 public:
  explicit Output(const std::string& file)
      : file_(file),
        descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!descriptor_) fail("create");
  }
  ~Output() {
    if (!descriptor_) return;
    // Only what open() may have made is taken away: never a device.
    struct stat status;
    const bool ours = ::fstat(descriptor_.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (ours) ::unlink(file_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const void* data, std::size_t size) {
    const char* next = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t count = ::write(descriptor_.get(), next, std::min(size, kPiece));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write");
      next += count;
      size -= static_cast<std::size_t>(count);
      begin_to_store(count);
    }
  }

  void finish() {
    if (::fsync(descriptor_.get()) != 0) fail("write to disk");
    if (::close(descriptor_.release()) == 0) return;
    const int reason = errno;
    ::unlink(file_.c_str());
    errno = reason;
    fail("close");
  }

 private:
  // Has the disk work on what is written while the rest is: fsync finds little left to do.
  void begin_to_store(ssize_t count) {
    written_ += count;
    if (written_ - told_ < kAhead) return;
    ::sync_file_range(descriptor_.get(), told_, written_ - told_, SYNC_FILE_RANGE_WRITE);
    told_ = written_;
  }

  [[noreturn]] void fail(const char* what) const {
    throw Error(file_ + ": cannot " + what + ": " + std::generic_category().message(errno));
  }

  // The kernel lets a writer of large pieces wait for the disk in the middle of them.
  static constexpr std::size_t kPiece = std::size_t{256} << 10;
  static constexpr off_t kAhead = off_t{16} << 20;

  std::string file_;
  UniqueFd descriptor_;
  off_t written_ = 0, told_ = 0;
};

}  // namespace

// The 8 bytes of length and the JSON, padded with blanks so that the data begins at a multiple
// of 8.
std::string safetensors_header(std::span<const SafetensorsTensor> tensors,
                               const std::map<std::string, std::string>& metadata,
                               const std::string& file) {
  std::string json = "{";
  if (!metadata.empty()) json += metadata_text(metadata, file);
  std::unordered_set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::string wrong = safetensors_name_problem(tensor.name);
    if (!wrong.empty()) refuse(tensor.name, wrong, file);
    if (!names.insert(tensor.name).second) refuse(tensor.name, "is given twice", file);
    const std::optional<std::uint64_t> bytes = safetensors_bytes(tensor.shape, tensor.dtype);
    if (!bytes) refuse(tensor.name, "has more bytes than a file can", file);
    const std::uint64_t end = offset + *bytes;
    if (json.size() > 1) json += ",";
    json += json_text(tensor.name, file) + ":{\"dtype\":\"" +
            std::string(safetensors_dtype(tensor.dtype)) + "\",\"shape\":[" +
            extents_text(tensor.shape) + "],\"data_offsets\":[" + std::to_string(offset) + "," +
            std::to_string(end) + "]}";
    offset = end;
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kSafetensorsMaxHeader) {
    throw Error(file + ": the header would have " + std::to_string(json.size()) +
                " bytes, more than the format allows");
  }
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return length + json;
}

std::string safetensors_header(std::span<const SafetensorsEntry> entries,
                               const std::map<std::string, std::string>& metadata,
                               const std::string& file) {
  std::vector<SafetensorsTensor> tensors;
  tensors.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) {
    tensors.push_back({entry.name, entry.dtype, entry.shape});
  }
  std::string header = safetensors_header(tensors, metadata, file);
  for (const SafetensorsEntry& entry : entries) check(entry, file);
  return header;
}

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsEntry> entries,
                       const std::map<std::string, std::string>& metadata) {
  const std::string file = path.string();
  const std::string header = safetensors_header(entries, metadata, file);
  Output output(file);
  output.write(header.data(), header.size());
  for (const SafetensorsEntry& entry : entries) output.write(entry.data.data(), entry.data.size());
  output.finish();
}

}  // namespace trivet
