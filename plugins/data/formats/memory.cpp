// SPDX-License-Identifier: Apache-2.0
#include "data/formats/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::data {
namespace {

// Files up to this size are read at once. Larger ones may not fit into memory.
constexpr std::uint64_t kMostPopulated = std::uint64_t{1} << 30;

[[noreturn]] void fail(const std::string& file, const char* what) {
  throw InputError(file + ": cannot " + what + ": " + std::generic_category().message(errno));
}

// A regular file that has contents.
class OpenFile {
 public:
  explicit OpenFile(const std::string& file)
      // Non-blocking, so that a pipe of this name does not block the run.
      : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_.get() < 0) fail(file, "open");
    struct stat status;
    if (::fstat(descriptor_.get(), &status) != 0) fail(file, "stat");
    if (S_ISDIR(status.st_mode)) throw InputError(file + ": a directory, not a file");
    if (!S_ISREG(status.st_mode)) throw InputError(file + ": not a regular file");
    if (status.st_size == 0) throw InputError(file + ": the file is empty");
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  int descriptor() const { return descriptor_.get(); }
  std::uint64_t size() const { return size_; }

 private:
  UniqueFd descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace

Memory::~Memory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void Memory::swap(Memory& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

Memory Memory::map(const std::string& file) {
  const OpenFile open(file);
  void* data = ::mmap(nullptr, open.size(), PROT_READ, MAP_PRIVATE, open.descriptor(), 0);
  if (data == MAP_FAILED) fail(file, "map");
  return {static_cast<std::uint8_t*>(data), open.size()};
}

Memory Memory::read(const std::string& file, std::uint64_t limit) {
  const OpenFile open(file);
  if (open.size() > limit) {
    throw InputError(file + ": has " + std::to_string(open.size()) +
                     " bytes, more than limit = " + std::to_string(limit));
  }
  Memory memory = allocate(open.size(), file);
  for (std::uint64_t at = 0; at < memory.size_;) {
    const ssize_t count = ::read(open.descriptor(), memory.data_ + at, memory.size_ - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file, "read");
    if (count == 0) throw InputError(file + ": the file was truncated during the read");
    at += static_cast<std::uint64_t>(count);
  }
  return memory;
}

Memory Memory::allocate(std::uint64_t size, const std::string& file) {
  if (size == 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) fail(file, "allocate memory for its contents");
  ::madvise(data, size, MADV_HUGEPAGE);  // a hint: examples are read in random order
  return {static_cast<std::uint8_t*>(data), size};
}

void Memory::resize(std::uint64_t size, const std::string& file) {
  if (size == 0 || data_ == nullptr) {
    *this = allocate(size, file);
    return;
  }
  void* data = ::mremap(data_, size_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) fail(file, "allocate memory for its contents");
  data_ = static_cast<std::uint8_t*>(data);
  size_ = size;
}

void Memory::populate() const {
#ifdef MADV_POPULATE_READ
  // Older kernels lack MADV_POPULATE_READ; pages are then read one by one.
  if (data_ != nullptr && size_ <= kMostPopulated) ::madvise(data_, size_, MADV_POPULATE_READ);
#endif
}

}  // namespace trivet::data
