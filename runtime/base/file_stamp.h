// SPDX-License-Identifier: Apache-2.0
// Identifies the state of a file, so that it is read again only if it changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "trivet/os/file.h"

namespace trivet {

// The state of a file according to stat().
struct FileStamp {
  std::int64_t size = -1;  // -1: the file did not exist
  std::int64_t time = 0;   // last change, including its mode; nanoseconds since 1970
  std::int64_t inode = 0;

  bool operator==(const FileStamp&) const = default;
  bool is_there() const { return size >= 0; }
  // A file that changed just now may change again with the same time. Such a mark equals no other.
  FileStamp settled() const;
};

// A file that stat() cannot read counts as missing.
FileStamp stamp_of(const std::string& file);
// Reads the file. Throws RunError if it is not a regular file, cannot be read, or has more than
// `limit` bytes.
std::string read_file_at_most(const std::filesystem::path& file, std::uint64_t limit);

// Marks of many files below a directory. The path of the directory is resolved once.
class StampsBelow {
 public:
  explicit StampsBelow(std::string directory);
  // Works for any other file, too.
  FileStamp of(const std::string& file) const;

 private:
  std::string directory_;  // ends in a slash
  UniqueFd opened_;
};

// The read position in a file to which other processes append lines.
struct LineStamp {
  FileStamp file;
  std::int64_t offset = 0;  // after the last complete line
  std::string tail;         // digest of the bytes before it

  // Text form for the index. Nothing if the text has another form.
  std::string text() const;
  static LineStamp from_text(std::string_view text);
};

// Reads the lines added since `known`. If the file was truncated or rewritten, reads from the
// start.
class AppendedLines {
 public:
  AppendedLines(std::filesystem::path file, LineStamp known);

  bool has_changed() const { return now_ != known_.file; }
  // Whether the lines that were read before are no longer valid.
  bool starts_anew() const { return anew_; }
  // Reads from the start, even if lines were read before.
  void start_anew();

  // Calls `take` with each complete line; a line of more than 16 MiB is passed as empty. Throws
  // RunError if the file cannot be read or is larger than 4 GiB.
  void read(const std::function<void(std::string_view)>& take);

  LineStamp mark() const;            // after read()
  LineStamp mark_as_unread() const;  // read from the start in any case

 private:
  std::filesystem::path path_;
  LineStamp known_;
  FileStamp now_;
  bool anew_ = false;
};

}  // namespace trivet
