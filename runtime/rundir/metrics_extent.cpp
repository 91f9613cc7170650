// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics_extent.h"

#include <libdeflate.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {
namespace {

std::uint64_t bytes_of_file(const UniqueFd& file, const std::filesystem::path& path) {
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) throw_system_error("read", path, errno);
  return static_cast<std::uint64_t>(about.st_size);
}

std::uint64_t count_in(const Value& table, std::string_view key) {
  const Value* found = table.is_table() ? table.find(key) : nullptr;
  return found == nullptr ? 0 : static_cast<std::uint64_t>(found->as_integer());
}

}  // namespace

void MetricsExtent::extend(const UniqueFd& file, const std::filesystem::path& path,
                           std::uint64_t most) {
  constexpr std::uint64_t kPart = 1 << 20;
  const std::uint64_t end = bytes_of_file(file, path);
  std::string text;  // after bytes_, not counted yet
  while (lines_ < most && bytes_ + text.size() < end) {
    const std::uint64_t at = bytes_ + text.size();
    text += read_part(file, at, std::min(kPart, end - at), path);
    std::size_t begin = 0;
    for (std::size_t stop = 0;
         lines_ < most && (stop = text.find('\n', begin)) != std::string::npos; begin = stop + 1) {
      take(std::string_view(text).substr(begin, stop - begin));
    }
    text.erase(0, begin);
    bytes_ += begin;
  }
}

void MetricsExtent::take(std::string_view line) {
  const std::string_view values = line.substr(0, line.rfind(",\"rates\":"));
  crc_ = libdeflate_crc32(crc_, values.data(), values.size());
  crc_ = libdeflate_crc32(crc_, "\n", 1);
  ++lines_;
}

Value MetricsExtent::to_value() const {
  return Value::table({{"lines", lines_}, {"crc32", fmt::format("{:08x}", crc_)}});
}

std::string loss_since(const Value& before, const UniqueFd& file,
                       const std::filesystem::path& path) {
  const std::uint64_t lines = count_in(before, "lines");
  MetricsExtent now;
  now.extend(file, path, lines);
  if (now.lines() < lines) {
    return fmt::format("has {} lines instead of at least {}", now.lines(), lines);
  }
  const Value value = now.to_value();
  const Value* crc = before.find("crc32");
  if (crc != nullptr && crc->as_string() == value.find("crc32")->as_string()) return {};
  return fmt::format("changed in its first {} lines", lines);
}

}  // namespace trivet
