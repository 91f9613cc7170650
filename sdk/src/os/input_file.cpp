// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "os/decompressor.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 17;
constexpr std::size_t kFrontBytes = 4;

const char* compression_name(Compression compression) {
  return compression == Compression::gzip ? "gzip" : "zstd";
}

}  // namespace

Compression compression_of(std::span<const std::uint8_t> front) noexcept {
  // RFC 1952, 2.3: after the two bytes come the method, 8, and flags of which three are 0. The
  // length of a TFRecord's first record may have the two bytes, too.
  const bool begins = front.size() >= 2 && front[0] == 0x1F && front[1] == 0x8B;
  if (begins && (front.size() < 3 || front[2] == 8) &&
      (front.size() < 4 || (front[3] & 0xE0) == 0)) {
    return Compression::gzip;
  }
  if (front.size() < kFrontBytes) return Compression::none;
  const bool frame = front[0] == 0x28 && front[1] == 0xB5 && front[2] == 0x2F && front[3] == 0xFD;
  // RFC 8878, 3.1.2: frames that hold something for others may come first.
  const bool skippable = front[0] >= 0x50 && front[0] <= 0x5F && front[1] == 0x2A &&
                         front[2] == 0x4D && front[3] == 0x18;
  return frame || skippable ? Compression::zstd : Compression::none;
}

struct InputFile::State {
  explicit State(std::string file) : name(std::move(file)) {}

  void begin() {
    refill(kFrontBytes);
    compression = compression_of(rest);
    if (compression != Compression::none) decompressor = detail::decompressor_of(compression);
  }

  // Brings `rest` to `wanted` bytes or more, unless the file ends.
  void refill(std::size_t wanted) {
    if (!descriptor || rest.size() >= wanted) return;
    std::vector<std::uint8_t> next(rest.begin(), rest.end());
    while (next.size() < wanted) {
      const std::size_t held = next.size();
      next.resize(held + kBufferBytes);
      const ssize_t count = ::read(descriptor.get(), next.data() + held, kBufferBytes);
      if (count < 0 && errno != EINTR) {
        throw InputError(name + ": cannot read: " + std::generic_category().message(errno));
      }
      next.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (count == 0) break;
    }
    buffer = std::move(next);
    rest = buffer;
  }

  std::size_t read_plain(std::span<char> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      refill(1);
      if (rest.empty()) break;
      const std::size_t count = std::min(rest.size(), out.size() - done);
      std::copy_n(rest.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(done));
      rest = rest.subspan(count);
      done += count;
    }
    return done;
  }

  std::size_t read_compressed(std::span<char> out) {
    std::span<char> left = out;
    while (!left.empty()) {
      refill(kFrontBytes);
      if (decompressor->is_whole()) {
        if (rest.empty()) break;
        if (compression_of(rest) != compression) fail("something else follows the", "data");
      }
      const std::size_t had = rest.size(), room = left.size();
      run(left);
      const bool stuck = rest.size() == had && left.size() == room;
      if (stuck && !decompressor->is_whole()) fail("the", "data is cut off");
    }
    return out.size() - left.size();
  }

  void run(std::span<char>& left) {
    const std::size_t room = left.size();
    try {
      decompressor->run(rest, left);
    } catch (const std::string& why) {
      fail("the", "data is damaged", why);
    }
    produced += room - left.size();
  }

  [[noreturn]] void fail(const char* before, const char* what, const std::string& why = {}) const {
    throw InputError(name + ": " + before + " " + compression_name(compression) + " " + what +
                         " after " + std::to_string(produced) + " bytes of contents" +
                         (why.empty() ? "" : ": " + why),
                     {.hint = "the file was changed or not fetched whole; fetch it again"});
  }

  std::string name;
  UniqueFd descriptor;
  std::vector<std::uint8_t> buffer;
  std::span<const std::uint8_t> rest;  // read, and not used
  Compression compression = Compression::none;
  std::unique_ptr<detail::Decompressor> decompressor;
  std::uint64_t produced = 0;
};

InputFile::InputFile(const std::string& name) : state_(std::make_unique<State>(name)) {
  // Unlike open_file, this waits for the other end of a pipe.
  state_->descriptor = UniqueFd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!state_->descriptor) {
    throw InputError(name + ": cannot open: " + std::generic_category().message(errno));
  }
  state_->begin();
}

InputFile::InputFile(std::span<const std::uint8_t> bytes, std::string name)
    : state_(std::make_unique<State>(std::move(name))) {
  state_->rest = bytes;
  state_->begin();
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

const std::string& InputFile::name() const {
  return state_->name;
}

Compression InputFile::compression() const {
  return state_->compression;
}

std::size_t InputFile::read(std::span<char> out) {
  return state_->decompressor ? state_->read_compressed(out) : state_->read_plain(out);
}

std::string input_text(const std::string& name, std::uint64_t limit) {
  InputFile file(name);
  std::string text;
  for (;;) {
    const std::size_t held = text.size();
    text.resize(held + std::max(held, kBufferBytes));
    const std::size_t count = file.read(std::span(text).subspan(held));
    text.resize(held + count);
    if (text.size() > limit) {
      throw InputError(name + ": has more than " + std::to_string(limit) + " bytes");
    }
    if (count == 0) return text;
  }
}

}  // namespace trivet
