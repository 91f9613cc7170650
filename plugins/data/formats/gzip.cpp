// SPDX-License-Identifier: Apache-2.0
// libdeflate decompresses whole buffers, several times as fast as zlib; zlib reads the front of a
// file and finds where damaged data is.
#include "data/formats/gzip.h"

#include <libdeflate.h>
#include <zlib.h>

#include <array>
#include <memory>

#include "trivet/error.h"

namespace trivet::data {
namespace {

// zlib's stream over one gzip member.
class Inflater {
 public:
  explicit Inflater(std::span<const std::uint8_t> input) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw InputError("cannot initialize zlib");
    stream_.next_in = const_cast<Bytef*>(input.data());
    rest_ = input.size();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Returns Z_OK while more data follows.
  int run(std::span<std::uint8_t> out) {
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    int status = Z_OK;
    while (status == Z_OK && stream_.avail_out > 0) {
      constexpr std::uint64_t kPiece = 1 << 30;
      if (stream_.avail_in == 0) {
        stream_.avail_in = static_cast<uInt>(rest_ < kPiece ? rest_ : kPiece);
        rest_ -= stream_.avail_in;
      }
      status = inflate(&stream_, Z_NO_FLUSH);
    }
    produced_ = out.size() - stream_.avail_out;
    return status;
  }
  std::size_t produced() const { return produced_; }  // by the last run

 private:
  z_stream stream_{};
  std::uint64_t rest_ = 0;
  std::size_t produced_ = 0;
};

// Reports why and where a member cannot be decompressed into the rest of `size` after `before`
// bytes of earlier members. libdeflate's error codes are not used: it reads cut off data as if
// zeros followed.
[[noreturn]] void fail(std::span<const std::uint8_t> member, std::uint64_t before,
                       std::uint64_t size, const std::string& name) {
  Inflater inflater(member);
  std::vector<std::uint8_t> scratch(1 << 16);
  std::uint64_t good = before;
  int status = Z_OK;
  while (status == Z_OK && good <= size) {
    status = inflater.run(scratch);
    good += inflater.produced();
  }
  if (good > size) {
    throw InputError(name + ": holds more than the " + std::to_string(size) +
                     " bytes that its header declares");
  }
  const std::string location =
      " after " + std::to_string(good) + " of " + std::to_string(size) + " bytes";
  if (status == Z_BUF_ERROR) throw InputError(name + ": the gzip data is cut off" + location);
  throw InputError(name + ": the gzip data is damaged" + location,
                   {.hint = "the file was changed or downloaded incompletely; download it again"});
}

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

}  // namespace

bool is_gzip(std::span<const std::uint8_t> file) {
  return file.size() >= 2 && file[0] == 0x1f && file[1] == 0x8b;
}

std::vector<std::uint8_t> gunzip_front(std::span<const std::uint8_t> file, std::size_t size) {
  std::vector<std::uint8_t> front(size);
  Inflater inflater(file);
  inflater.run(front);
  front.resize(inflater.produced());
  return front;
}

Memory gunzip(std::span<const std::uint8_t> file, std::uint64_t size, const std::string& name) {
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (!decompressor) throw InputError(name + ": not enough memory to decompress it");
  Memory memory = Memory::allocate(size, name);
  std::uint64_t done = 0;
  while (is_gzip(file)) {
    std::size_t used = 0, made = 0;
    const auto result =
        libdeflate_gzip_decompress_ex(decompressor.get(), file.data(), file.size(),
                                      memory.data() + done, size - done, &used, &made);
    if (result != LIBDEFLATE_SUCCESS) fail(file, done, size, name);
    done += made;
    file = file.subspan(used);
  }
  if (!file.empty()) {
    throw InputError(name + ": " + std::to_string(file.size()) +
                     " bytes of other data follow the gzip data");
  }
  if (done < size) {
    throw InputError(name + ": cut off: it has " + std::to_string(done) + " of the " +
                     std::to_string(size) + " bytes that its header declares");
  }
  return memory;
}

}  // namespace trivet::data
