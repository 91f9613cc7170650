// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace trivet {
namespace {

// Reads a file byte by byte, through a buffer on the stack.
class ByteReader {
 public:
  explicit ByteReader(int descriptor) : descriptor_(descriptor) {}

  // Returns -1 at the end.
  int next() {
    if (at_ == end_) {
      const ssize_t count = ::read(descriptor_, buffer_, sizeof buffer_);
      if (count <= 0) return -1;
      at_ = 0;
      end_ = static_cast<std::size_t>(count);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

 private:
  int descriptor_;
  char buffer_[1024];
  std::size_t at_ = 0, end_ = 0;
};

// Reads a hexadecimal number; `after` is the byte after it.
std::uintptr_t number_in(ByteReader& reader, int& after) {
  std::uintptr_t number = 0;
  while (true) {
    after = reader.next();
    const bool digit = after >= '0' && after <= '9', letter = after >= 'a' && after <= 'f';
    if (!digit && !letter) return number;
    number = number * 16 + static_cast<std::uintptr_t>(digit ? after - '0' : after - 'a' + 10);
  }
}

// Reads the rest of a line of /proc/self/maps: four words, then the path.
std::size_t path_in(ByteReader& reader, std::span<char> path) {
  std::size_t size = 0;
  for (int c = reader.next(); c != -1 && c != '\n'; c = reader.next()) {
    if (size == 0 && c != '/') continue;
    if (size + 1 < path.size()) path[size++] = static_cast<char>(c);
  }
  return size;
}

}  // namespace

bool mapped_file_at(const void* address, std::span<char> path) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const int descriptor = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || path.empty()) return false;
  ByteReader reader(descriptor);
  bool found = false;
  for (int after = 0; !found && after != -1;) {
    const std::uintptr_t begin = number_in(reader, after);
    if (after == -1) break;
    const std::uintptr_t end = number_in(reader, after);
    const std::size_t size = path_in(reader, path);
    found = wanted >= begin && wanted < end && size > 0;
    path[size] = '\0';
  }
  ::close(descriptor);
  return found;
}

}  // namespace trivet
