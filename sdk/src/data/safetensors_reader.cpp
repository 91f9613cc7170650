// SPDX-License-Identifier: Apache-2.0
// Maps a safetensors file and gives out views into it, once its header is found to be right.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>
#include <system_error>

#include "data/safetensors_header.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

[[noreturn]] void fail_system(const std::string& file, const char* what) {
  throw Error(file + ": cannot " + what + ": " + std::generic_category().message(errno));
}

// A file descriptor and the mapping of the whole file.
class Mapping {
 public:
  explicit Mapping(const std::string& file) {
    // Not blocking: a pipe under this name must not hang the program.
    const UniqueFd descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!descriptor) fail_system(file, "open");
    struct stat status;
    if (::fstat(descriptor.get(), &status) != 0) fail_system(file, "look at");
    if (!S_ISREG(status.st_mode)) throw Error(file + ": not a file");
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ < 8) {
      throw Error(file + ": " + std::to_string(size_) +
                  " bytes are too few for a safetensors file");
    }
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
    if (data_ == MAP_FAILED) fail_system(file, "map");
  }
  ~Mapping() { ::munmap(data_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  // A hint for whole pages in the part.
  void release(std::span<const std::byte> part) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto first = static_cast<std::size_t>(part.data() - bytes().data());
    const std::size_t begin = (first + page - 1) / page * page;
    const std::size_t end = (first + part.size()) / page * page;
    if (begin < end) ::madvise(static_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
  }

 private:
  void* data_ = MAP_FAILED;
  std::uint64_t size_ = 0;
};

std::uint64_t header_size(std::span<const std::byte> bytes, const std::string& file) {
  std::uint64_t size = 0;
  for (int i = 7; i >= 0; --i) {
    size = size << 8 | static_cast<std::uint64_t>(bytes[static_cast<std::size_t>(i)]);
  }
  if (size > kSafetensorsMaxHeader) {
    throw Error(file + ": the header is said to have " + std::to_string(size) +
                    " bytes, more than the format allows",
                {.hint = "the file is probably not in the safetensors format"});
  }
  if (size > bytes.size() - 8) {
    throw Error(file + ": the header is said to have " + std::to_string(size) +
                " bytes, but only " + std::to_string(bytes.size() - 8) + " follow");
  }
  return size;
}

}  // namespace

struct SafetensorsFile::Impl {
  Impl(const std::string& file) : mapping(file) {
    const auto bytes = mapping.bytes();
    const std::uint64_t size = header_size(bytes, file);
    const auto data = bytes.subspan(8 + size);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, size);
    SafetensorsHeader header = parse_safetensors_header(text, data.size(), file);
    metadata = std::move(header.metadata);
    entries.reserve(header.entries.size());
    for (auto& entry : header.entries) {
      entries.push_back({std::move(entry.name), entry.dtype, entry.shape,
                         data.subspan(entry.begin, entry.end - entry.begin)});
    }
    by_name.resize(entries.size());
    std::iota(by_name.begin(), by_name.end(), std::size_t{0});
    std::sort(by_name.begin(), by_name.end(),
              [&](std::size_t a, std::size_t b) { return entries[a].name < entries[b].name; });
  }

  Mapping mapping;
  std::vector<SafetensorsEntry> entries;
  std::vector<std::size_t> by_name;  // locations in entries
  std::map<std::string, std::string> metadata;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : impl_(std::make_unique<Impl>(path.string())) {}
SafetensorsFile::~SafetensorsFile() = default;

const std::vector<SafetensorsEntry>& SafetensorsFile::entries() const {
  return impl_->entries;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto& index = impl_->by_name;
  const auto found = std::lower_bound(
      index.begin(), index.end(), name,
      [&](std::size_t i, std::string_view wanted) { return impl_->entries[i].name < wanted; });
  if (found == index.end() || impl_->entries[*found].name != name) return nullptr;
  return &impl_->entries[*found];
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return impl_->metadata;
}

void SafetensorsFile::release(std::span<const std::byte> data) const {
  const auto all = impl_->mapping.bytes();
  const std::less_equal<const std::byte*> before;
  const bool inside =
      before(all.data(), data.data()) && before(data.data() + data.size(), all.data() + all.size());
  if (inside) impl_->mapping.release(data);
}

}  // namespace trivet
