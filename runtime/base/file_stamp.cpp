// SPDX-License-Identifier: Apache-2.0
#include "base/file_stamp.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

#include <fmt/core.h>

#include "base/reverse_line_reader.h"
#include "trivet/config/digest.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBillion = 1'000'000'000;
// Greater than the time resolution of file systems.
constexpr std::int64_t kUnsettled = kBillion / 10;
constexpr std::size_t kTailBytes = 64;
constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 30;

FileStamp mark_from(const struct stat& about) {
  return {about.st_size, about.st_ctim.tv_sec * kBillion + about.st_ctim.tv_nsec,
          static_cast<std::int64_t>(about.st_ino)};
}

// Opening a FIFO must not block.
UniqueFd open_regular(const fs::path& path) {
  UniqueFd file = open_file(path, O_RDONLY | O_NONBLOCK);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) throw_system_error("read", path, errno);
  if (!S_ISREG(about.st_mode)) throw RunError(path.string() + " is not a file");
  return file;
}

std::string tail_of(const UniqueFd& file, std::int64_t offset, const fs::path& path) {
  const auto end = static_cast<std::uint64_t>(offset);
  const std::uint64_t count = std::min<std::uint64_t>(end, kTailBytes);
  return digest(read_part(file, end - count, count, path)).substr(0, 12);
}

}  // namespace

FileStamp FileStamp::settled() const {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  FileStamp mark = *this;
  if (is_there() && now.tv_sec * kBillion + now.tv_nsec - time < kUnsettled) mark.time = -1;
  return mark;
}

FileStamp stamp_of(const std::string& file) {
  struct stat about {};
  return ::stat(file.c_str(), &about) == 0 ? mark_from(about) : FileStamp();
}

StampsBelow::StampsBelow(std::string directory)
    : directory_(std::move(directory)),
      opened_(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  directory_ += '/';
}

FileStamp StampsBelow::of(const std::string& file) const {
  const char* below = file.c_str() + directory_.size();
  if (!opened_ || !file.starts_with(directory_) || *below == '/') return stamp_of(file);
  struct stat about {};
  return ::fstatat(opened_.get(), below, &about, 0) == 0 ? mark_from(about) : FileStamp();
}

std::string read_file_at_most(const fs::path& path, std::uint64_t limit) {
  open_regular(path);
  return read_text_file(path, limit);
}

std::string LineStamp::text() const {
  return fmt::format("{} {} {} {} {}", file.size, file.time, file.inode, offset, tail);
}

LineStamp LineStamp::from_text(std::string_view text) {
  LineStamp mark;
  const std::array<std::int64_t*, 4> numbers = {&mark.file.size, &mark.file.time, &mark.file.inode,
                                                &mark.offset};
  const char *next = text.data(), *end = text.data() + text.size();
  for (std::int64_t* number : numbers) {
    const auto [stop, error] = std::from_chars(next, end, *number);
    if (error != std::errc() || stop == end) return {};
    next = stop + 1;
  }
  mark.tail.assign(next, end);
  return mark;
}

AppendedLines::AppendedLines(fs::path file, LineStamp known)
    : path_(std::move(file)), known_(std::move(known)), now_(stamp_of(path_)) {
  if (!has_changed() || known_.offset == 0) return;
  const bool may_have_grown = now_.inode == known_.file.inode && now_.size >= known_.offset;
  try {
    anew_ = !may_have_grown || tail_of(open_regular(path_), known_.offset, path_) != known_.tail;
  } catch (const RunError&) {
    anew_ = true;
  }
  if (anew_) start_anew();
}

void AppendedLines::start_anew() {
  anew_ = true;
  known_.offset = 0;
}

void AppendedLines::read(const std::function<void(std::string_view)>& take) {
  if (!now_.is_there()) return;
  const UniqueFd file = open_regular(path_);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) throw_system_error("read", path_, errno);
  now_ = mark_from(about);
  const auto size = static_cast<std::uint64_t>(now_.size);
  if (size > kLargestFile) throw RunError(path_.string() + " is larger than 4 GiB");
  auto at = static_cast<std::uint64_t>(known_.offset);
  std::string rest;
  bool too_long = false;
  while (at < size) {
    const std::uint64_t count = std::min<std::uint64_t>(size - at, 1 << 20);
    rest += read_part(file, at, count, path_);
    at += count;
    std::string_view lines = rest;
    for (std::size_t end; (end = lines.find('\n')) != std::string_view::npos;) {
      take(too_long ? std::string_view() : lines.substr(0, end));
      too_long = false;
      lines.remove_prefix(end + 1);
      known_.offset = static_cast<std::int64_t>(at - lines.size());
    }
    rest.erase(0, rest.size() - lines.size());
    if (rest.size() > kLongestLine) too_long = true;
    if (too_long) rest.clear();
  }
  known_.tail = known_.offset > 0 ? tail_of(file, known_.offset, path_) : "";
}

LineStamp AppendedLines::mark() const {
  return {now_.settled(), known_.offset, known_.tail};
}

LineStamp AppendedLines::mark_as_unread() const {
  return {now_.settled(), 1, {}};  // a digest is never empty
}

}  // namespace trivet
