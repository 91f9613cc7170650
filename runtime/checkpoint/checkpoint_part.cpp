// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_part.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <numeric>

#include <fmt/core.h>

#include "checkpoint/state_value.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

struct Chunk {
  std::uint64_t begin = 0;  // byte of the file
  std::span<const std::byte> data;
};

std::uint32_t crc_of(std::uint32_t before, std::span<const std::byte> data) {
  return data.empty() ? before : libdeflate_crc32(before, data.data(), data.size());
}

// Neighbors are one range.
std::vector<WrittenRange> ranges_of(std::span<const Chunk> chunks) {
  std::vector<WrittenRange> ranges;
  for (const Chunk& chunk : chunks) {
    if (ranges.empty() || ranges.back().end != chunk.begin) {
      ranges.push_back({chunk.begin, chunk.begin});
    }
    ranges.back().end += chunk.data.size();
  }
  return ranges;
}

// `work` gets each chunk and its range.
template <class Range, class Work>
void for_each_chunk(std::span<const Chunk> chunks, std::span<Range> ranges, const Work& work) {
  auto range = ranges.begin();
  for (const Chunk& chunk : chunks) {
    while (chunk.begin >= range->end) ++range;
    work(chunk, *range);
  }
}

bool is_nfs(const UniqueFd& file) {
  struct statfs about = {};
  return ::fstatfs(file.get(), &about) == 0 && about.f_type == NFS_SUPER_MAGIC;
}

// One file, of which other processes write other ranges.
class PartFile {
 public:
  explicit PartFile(std::filesystem::path path)
      : path_(std::move(path)), file_(open_file(path_, O_WRONLY | O_CREAT)) {
    if (is_nfs(file_)) shared_pages_ = open_file(path_, O_WRONLY | O_DSYNC);
  }

  // A client of NFS may write a whole page where it has changed a part of it, and put zeros over
  // what another one has written there; but not where each write is synced.
  void write(const Chunk& chunk, const WrittenRange& range) {
    if (!shared_pages_) return write(file_, chunk.begin, chunk.data);
    const std::uint64_t end = chunk.begin + chunk.data.size();
    const std::uint64_t first_own = (range.begin + kPages - 1) / kPages * kPages;
    const std::uint64_t own = std::clamp(first_own, chunk.begin, end);
    const std::uint64_t last = std::clamp(range.end / kPages * kPages, own, end);
    write(shared_pages_, chunk.begin, chunk.data.first(own - chunk.begin));
    write(file_, own, chunk.data.subspan(own - chunk.begin, last - own));
    write(shared_pages_, last, chunk.data.subspan(last - chunk.begin));
  }

  void finish() {
    if (::fdatasync(file_.get()) != 0) throw_system_error("write to disk", path_, errno);
    for (UniqueFd* file : {&file_, &shared_pages_}) {
      if (*file && ::close(file->release()) != 0) throw_system_error("close", path_, errno);
    }
  }

 private:
  void write(const UniqueFd& file, std::uint64_t begin, std::span<const std::byte> data) {
    auto position = static_cast<off_t>(begin);
    while (!data.empty()) {
      const ssize_t count =
          ::pwrite(file.get(), data.data(), std::min(data.size(), kPiece), position);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_system_error("write", path_, errno);
      begin_to_store(position, count);
      position += count;
      data = data.subspan(static_cast<std::size_t>(count));
    }
  }

  // Has the disk work on what is written while the rest is: fdatasync finds little left to do.
  void begin_to_store(off_t position, ssize_t count) {
    if (position != ahead_end_) ahead_begin_ = position;
    ahead_end_ = position + count;
    if (ahead_end_ - ahead_begin_ < kAhead) return;
    ::sync_file_range(file_.get(), ahead_begin_, ahead_end_ - ahead_begin_, SYNC_FILE_RANGE_WRITE);
    ahead_begin_ = ahead_end_;
  }

  // The kernel lets a writer of large pieces wait for the disk in the middle of them.
  static constexpr std::size_t kPiece = std::size_t{256} << 10;
  static constexpr off_t kAhead = off_t{16} << 20;
  static constexpr std::uint64_t kPages = std::uint64_t{64} << 10;  // the largest common page

  std::filesystem::path path_;
  UniqueFd file_;
  UniqueFd shared_pages_;                  // the file again, for pages of several ranges
  off_t ahead_begin_ = 0, ahead_end_ = 0;  // written, and the disk does not know yet
};

std::string text_of(const WrittenRange& range) {
  return fmt::format("{}-{}", range.begin, range.end);
}

void check_same(std::span<const WrittenPart> parts, std::size_t rank) {
  const WrittenPart &first = parts[0], &other = parts[rank];
  for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
    const bool is_same = i < first.size() && i < other.size() && first[i].name == other[i].name &&
                         first[i].size == other[i].size && first[i].layout == other[i].layout;
    if (is_same) continue;
    throw RunError(fmt::format("process {} of {} saves other tensors in {} than process 0", rank,
                               parts.size(), i < first.size() ? first[i].name : other[i].name));
  }
}

FileSum sum_of(const WrittenFile& file, std::vector<WrittenRange> ranges) {
  std::ranges::sort(ranges, {}, &WrittenRange::begin);
  std::uint64_t end = 0;
  uLong crc = ::crc32(0, nullptr, 0);
  for (const WrittenRange& range : ranges) {
    if (range.begin != end) {
      throw RunError(
          fmt::format("{}: bytes {} follow byte {}: the processes of the run have "
                      "parts that do not make up whole tensors",
                      file.name, text_of(range), end));
    }
    crc = ::crc32_combine(crc, range.crc32, static_cast<z_off_t>(range.end - range.begin));
    end = range.end;
  }
  if (end != file.size) {
    throw RunError(
        fmt::format("{}: {} bytes of {} are written: the processes of the run have "
                    "parts that do not make up whole tensors",
                    file.name, end, file.size));
  }
  return {end, fmt::format("{:08x}", crc)};
}

}  // namespace

WrittenFile write_tensor_bytes(const std::filesystem::path& directory, const std::string& name,
                               std::span<const TensorBytes> tensors, FileHeader header) {
  std::vector<SafetensorsTensor> layout;
  layout.reserve(tensors.size());
  for (const TensorBytes& one : tensors) layout.push_back(one.tensor);
  const std::string text = safetensors_header(layout, {}, (directory / name).string());
  std::vector<Chunk> chunks;
  if (header == FileHeader::written) chunks.push_back({0, std::as_bytes(std::span(text))});
  std::uint64_t end = text.size();
  for (const TensorBytes& one : tensors) {
    if (!one.data.empty()) chunks.push_back({end + one.first, one.data});
    end += static_cast<std::uint64_t>(one.tensor.shape.size()) * size_of(one.tensor.dtype);
  }
  WrittenFile written{
      .name = name, .size = end, .layout = crc_of(0, std::as_bytes(std::span(text)))};
  if (chunks.empty()) return written;
  const std::vector<WrittenRange> ranges = ranges_of(chunks);
  written.ranges = ranges;
  // Computed while the disk is busy. Not from the file, so that write errors are found.
  const auto sums = std::async(std::launch::async, [&] {
    for_each_chunk(chunks, std::span(written.ranges), [](const Chunk& chunk, WrittenRange& range) {
      range.crc32 = crc_of(range.crc32, chunk.data);
    });
  });
  PartFile file(directory / name);
  for_each_chunk(chunks, std::span(ranges),
                 [&](const Chunk& chunk, const WrittenRange& range) { file.write(chunk, range); });
  file.finish();
  sums.wait();
  return written;
}

std::uint64_t bytes_of(const WrittenPart& part) {
  std::uint64_t bytes = 0;
  for (const WrittenFile& file : part) {
    for (const WrittenRange& range : file.ranges) bytes += range.end - range.begin;
  }
  return bytes;
}

std::string report_file_name(int rank) {
  return fmt::format("part_{}.json", rank);
}

std::string to_text(const WrittenPart& part) {
  Value files = Value::array();
  for (const WrittenFile& file : part) {
    Value ranges = Value::array();
    for (const WrittenRange& range : file.ranges) {
      Value numbers = Value::array();
      for (const std::uint64_t number : {range.begin, range.end, std::uint64_t{range.crc32}}) {
        numbers.push_back(static_cast<std::int64_t>(number));
      }
      ranges.push_back(std::move(numbers));
    }
    files.push_back(Value::table({{"name", file.name},
                                  {"size", static_cast<std::int64_t>(file.size)},
                                  {"layout", static_cast<std::int64_t>(file.layout)},
                                  {"ranges", std::move(ranges)}}));
  }
  return to_json(files);
}

WrittenPart written_part_of(const std::string& text) {
  WrittenPart part;
  const Value files = value_from_json(text, "a part of a checkpoint");
  for (const Value& file : files.items()) {
    WrittenFile& written = part.emplace_back();
    written.name = member(file, "name").as_string();
    written.size = static_cast<std::uint64_t>(member(file, "size").as_integer());
    written.layout = static_cast<std::uint32_t>(member(file, "layout").as_integer());
    for (const Value& range : member(file, "ranges").items()) {
      const auto number = [&](std::size_t i) {
        return static_cast<std::uint64_t>(range.items()[i].as_integer());
      };
      written.ranges.push_back({number(0), number(1), static_cast<std::uint32_t>(number(2))});
    }
  }
  return part;
}

std::vector<WrittenSum> sums_of(std::span<const WrittenPart> parts) {
  for (std::size_t rank = 1; rank < parts.size(); ++rank) check_same(parts, rank);
  std::vector<WrittenSum> sums;
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    std::vector<WrittenRange> ranges;
    for (const WrittenPart& part : parts) {
      ranges.insert(ranges.end(), part[i].ranges.begin(), part[i].ranges.end());
    }
    sums.push_back({parts[0][i].name, sum_of(parts[0][i], std::move(ranges))});
  }
  return sums;
}

}  // namespace trivet
