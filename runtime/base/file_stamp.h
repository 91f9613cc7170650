// SPDX-License-Identifier: Apache-2.0
//
// Which state of a file somebody has read, so that it is read again only when there is another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "trivet/os/file.h"

namespace trivet {

// A file by what stat() tells of it.
struct FileStamp {
  std::int64_t size = -1;  // -1: there was none
  std::int64_t time = 0;   // of its last change, also of its mode; nanoseconds since 1970
  std::int64_t inode = 0;

  bool operator==(const FileStamp&) const = default;
  bool is_there() const { return size >= 0; }
  // A file that changed just now may change again without a later time; as known later, such a mark
  // equals no other.
  FileStamp settled() const;
};

// Of a file that cannot be looked at as of one that is not there.
FileStamp stamp_of(const std::string& file);
// Its content. Throws RunError for what is no file, cannot be read or has more bytes than `limit`.
std::string read_file_at_most(const std::filesystem::path& file, std::uint64_t limit);

// Marks of many files below a directory, whose own path is walked once.
class StampsBelow {
 public:
  explicit StampsBelow(std::string directory);
  // Of any other file, too.
  FileStamp of(const std::string& file) const;

 private:
  std::string directory_;  // ends with a slash
  UniqueFd opened_;
};

// How far a file to which others append lines has been read.
struct LineStamp {
  FileStamp file;
  std::int64_t offset = 0;  // behind the last whole line
  std::string tail;         // digest of what stands before it

  // For the index; nothing of a text that is something else.
  std::string text() const;
  static LineStamp from_text(std::string_view text);
};

// Reads the lines that have been added since `known`. A file that is not the known one grown longer
// (cut, written anew) is read from its start.
class AppendedLines {
 public:
  AppendedLines(std::filesystem::path file, LineStamp known);

  bool has_changed() const { return now_ != known_.file; }
  // Whether what was read before is no longer true.
  bool starts_anew() const { return anew_; }
  // Everything, though it was read before.
  void start_anew();

  // Calls `take` with each whole line; one of more than 16 MiB comes empty. Throws RunError when
  // the file cannot be read or has more than 4 GiB.
  void read(const std::function<void(std::string_view)>& take);

  LineStamp mark() const;            // after read()
  LineStamp mark_as_unread() const;  // whatever comes is read from its start

 private:
  std::filesystem::path path_;
  LineStamp known_;
  FileStamp now_;
  bool anew_ = false;
};

}  // namespace trivet
