// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "trivet/error.h"

namespace trivet {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& file) {
  throw RunError(std::string("cannot ") + action + " " + file.string() + ": " +
                 std::generic_category().message(errno));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& file, int flags)
      : fd_(::open(file.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

void write_to_disk(const std::filesystem::path& file, std::string_view text) {
  const Descriptor out(file, O_WRONLY | O_CREAT | O_TRUNC);
  if (out.get() < 0) fail("write", file);
  while (!text.empty()) {
    const ssize_t written = ::write(out.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", file);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(out.get()) != 0) fail("write", file);
}

}  // namespace

void replace_text_file(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::path half = file;
  half += ".tmp";
  try {
    write_to_disk(half, text);
    if (::rename(half.c_str(), file.c_str()) != 0) fail("write", file);
  } catch (...) {
    ::unlink(half.c_str());
    throw;
  }
}

std::string text_of_file(const std::filesystem::path& file, std::uint64_t limit) {
  const Descriptor in(file, O_RDONLY);
  if (in.get() < 0) fail("read", file);
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t count = ::read(in.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", file);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limit)
      throw RunError(file.string() + " is larger than " + std::to_string(limit) + " bytes");
  }
}

}  // namespace trivet
