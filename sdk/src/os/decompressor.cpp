// SPDX-License-Identifier: Apache-2.0
#include "os/decompressor.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "trivet/error.h"

namespace trivet::detail {
namespace {

class GzipStream final : public Decompressor {
 public:
  GzipStream() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw Error("zlib cannot be set up");
  }
  ~GzipStream() override { inflateEnd(&stream_); }

  void run(std::span<const std::uint8_t>& in, std::span<char>& out) override {
    if (whole_) {
      // Another member.
      whole_ = false;
      inflateReset(&stream_);
    }
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto given = static_cast<uInt>(std::min(in.size(), kMost));
    const auto wanted = static_cast<uInt>(std::min(out.size(), kMost));
    stream_.next_in = const_cast<Bytef*>(in.data());
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = wanted;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(given - stream_.avail_in);
    out = out.subspan(wanted - stream_.avail_out);
    whole_ = status == Z_STREAM_END;
    if (whole_ || status == Z_OK || status == Z_BUF_ERROR) return;
    throw std::string(stream_.msg != nullptr ? stream_.msg : "it does not fit together");
  }
  bool is_whole() const override { return whole_; }

 private:
  z_stream stream_{};
  bool whole_ = false;
};

class ZstdStream final : public Decompressor {
 public:
  ZstdStream() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw Error("zstd cannot be set up");
  }
  ~ZstdStream() override { ZSTD_freeDStream(stream_); }

  void run(std::span<const std::uint8_t>& in, std::span<char>& out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_, &to, &from);
    if (ZSTD_isError(left) != 0) throw std::string(ZSTD_getErrorName(left));
    in = in.subspan(from.pos);
    out = out.subspan(to.pos);
    whole_ = left == 0;
  }
  bool is_whole() const override { return whole_; }

 private:
  ZSTD_DStream* stream_;
  bool whole_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> decompressor_of(Compression compression) {
  if (compression == Compression::gzip) return std::make_unique<GzipStream>();
  return std::make_unique<ZstdStream>();
}

}  // namespace trivet::detail
