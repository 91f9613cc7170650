// SPDX-License-Identifier: Apache-2.0
// Files, written whole or not at all, with the system's reason when it fails. Every function throws
// FileError, which names the file and the cause (disk full, read-only, ...). [any-thread]
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "trivet/base/export.h"
#include "trivet/error.h"

namespace trivet {

// The system did not do what was asked with a file.
class TRIVET_API FileError : public RunError {
 public:
  FileError(const std::string& message, ErrorDetails details, int number)
      : RunError(message, std::move(details)), number_(number) {}

  int number() const { return number_; }  // errno
  // Whether the same call may work later or for somebody else (EIO, ESTALE, EMFILE, ENOMEM, EACCES,
  // ...), so that nothing is known of the file. Otherwise it is missing, or no file.
  bool may_pass() const;
  // Whether the system was short of something that comes back by itself: memory, open files, room
  // on a disk, a server's answer (ENOMEM, EMFILE, ENOSPC, ESTALE, ...).
  bool is_shortage() const;

 private:
  int number_;
};

// A file descriptor that closes itself.
class TRIVET_API UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // The caller closes it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

enum class Durability {
  cached,  // survives the process; a power cut may lose it
  synced,  // on the disk when the call returns
};

// open(2) with close-on-exec; `flags` and `mode` as there. Reading does not wait for the other end
// of a pipe.
TRIVET_API UniqueFd open_file(const std::filesystem::path& path, int flags, mode_t mode = 0666);
// Waits for flock(2) on a file, which is held until the file is closed.
TRIVET_API void lock_file(const UniqueFd& file, const std::filesystem::path& path);
TRIVET_API void write_all(const UniqueFd& file, std::string_view text,
                          const std::filesystem::path& path);
// Adds to the end of a file, whole or not at all: what could be written of the text before it
// failed is cut off again. For files of which this process is the only writer.
TRIVET_API void append_all(const UniqueFd& file, std::string_view text,
                           const std::filesystem::path& path);
// Cuts off a last line without its end, which a killed process has left. The file must be open for
// reading, too.
TRIVET_API void cut_unfinished_line(const UniqueFd& file, const std::filesystem::path& path);
// These bytes of a file, which must be there.
TRIVET_API std::string read_part(const UniqueFd& file, std::uint64_t offset, std::uint64_t count,
                                 const std::filesystem::path& path);
// What is left to read of a file, and at most so many bytes: one more than a limit shows that the
// file is larger.
TRIVET_API std::string read_up_to(const UniqueFd& file, std::uint64_t most,
                                  const std::filesystem::path& path);
TRIVET_API void sync_file(const UniqueFd& file, const std::filesystem::path& path);
TRIVET_API void sync_directory(const std::filesystem::path& path);
TRIVET_API void make_directories(const std::filesystem::path& path);

// A new file with this content.
TRIVET_API void write_file(const std::filesystem::path& path, std::string_view text,
                           Durability durability);
// The same through PATH.tmp and a rename: readers see the old or the new content, never a part.
// PATH.tmp is removed when it fails. For files of which this process is the only writer.
TRIVET_API void replace_file(const std::filesystem::path& path, std::string_view text,
                             Durability durability = Durability::synced);
TRIVET_API void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

// Files of more than `limit` bytes are refused.
TRIVET_API std::string read_text_file(const std::filesystem::path& path,
                                      std::uint64_t limit = 64u << 20);

// Whether a file or folder of this name exists. Throws FileError if the system cannot tell.
TRIVET_API bool is_there(const std::filesystem::path& path);

// Throws the FileError for a failed system call: "cannot write runs/1-a/x: No space left on
// device".
[[noreturn]] TRIVET_API void throw_system_error(std::string_view action,
                                                const std::filesystem::path& path,
                                                int error_number);

}  // namespace trivet
