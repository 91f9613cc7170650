// SPDX-License-Identifier: Apache-2.0
// Files of a run directory: written whole or not at all, with the system's reason when it fails.
// Every function throws FileError naming the file and the cause (disk full, read-only, ...).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "trivet/error.h"

namespace trivet {

// The system did not do what was asked with a file.
class FileError : public RunError {
 public:
  FileError(const std::string& message, ErrorDetails details, int number)
      : RunError(message, std::move(details)), number_(number) {}

  int number() const { return number_; }  // errno
  // Whether the same call may work later or for somebody else (EIO, ESTALE, EMFILE, ENOMEM, EACCES,
  // ...), so that nothing is known of the file. Otherwise it is missing, or no file.
  bool may_pass() const;

 private:
  int number_;
};

// An open file, closed at the end of its life.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class Durability {
  cached,  // survives the process; a power cut may lose it
  synced,  // on the disk when the call returns
};

// open(2) with close-on-exec; `flags` as there. Reading does not wait for the other end of a pipe.
FileHandle open_file(const std::filesystem::path& path, int flags);
void write_all(const FileHandle& file, std::string_view text, const std::filesystem::path& path);
// Adds to the end of a file, whole or not at all: what could be written of the text before it
// failed is cut off again. For files of which this process is the only writer.
void append_all(const FileHandle& file, std::string_view text, const std::filesystem::path& path);
// Cuts off a last line without its end, which a killed process has left. The file must be open for
// reading, too.
void cut_unfinished_line(const FileHandle& file, const std::filesystem::path& path);
// These bytes of a file, which must be there.
std::string read_part(const FileHandle& file, std::uint64_t offset, std::uint64_t count,
                      const std::filesystem::path& path);
void sync_file(const FileHandle& file, const std::filesystem::path& path);
void sync_directory(const std::filesystem::path& path);
void make_directories(const std::filesystem::path& path);

// A new file with this content.
void write_file(const std::filesystem::path& path, std::string_view text, Durability durability);
// The same through a temporary file beside it and a rename: readers see the old or the new content,
// never a part. The temporary is removed when it fails. For files of which this process is the only
// writer.
void replace_file(const std::filesystem::path& path, std::string_view text, Durability durability);
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

// Files of more than `limit` bytes are refused.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit = 64u << 20);

// Whether there is something of this name. What keeps the system from telling is an error.
bool is_there(const std::filesystem::path& path);

// Throws the FileError for a failed system call: "cannot write runs/1-a/x: No space left on
// device".
[[noreturn]] void throw_system_error(std::string_view action, const std::filesystem::path& path,
                                     int error_number);

}  // namespace trivet
