// SPDX-License-Identifier: Apache-2.0
#include "data/images/image_file.h"

#include <spng.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "trivet/error.h"
#include "trivet/os/input_file.h"

namespace trivet::data {
namespace {

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

[[noreturn]] void wrong(const std::string& file, const std::string& what, std::string hint = {}) {
  throw InputError(file + ": " + what, {.hint = std::move(hint)});
}

void check_size(const std::string& file, std::int64_t width, std::int64_t height) {
  if (width <= kMostPixels / std::max<std::int64_t>(height, 1)) return;
  wrong(file, "has " + std::to_string(width) + " x " + std::to_string(height) +
                  " pixels, more than 2^27");
}

// ITU-R BT.601, in integers, so that it is equal on all machines.
std::uint8_t gray_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

Pixels with_channels(Pixels image, std::int64_t channels) {
  if (channels == 0 || channels == image.channels) return image;
  Pixels out{image.height, image.width, channels, {}};
  const std::int64_t pixels = image.height * image.width;
  out.values.reserve(static_cast<std::size_t>(pixels * channels));
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::uint8_t* from = image.values.data() + i * image.channels;
    if (channels == 1) {
      out.values.push_back(gray_of(from));
    } else {
      out.values.insert(out.values.end(), 3, *from);
    }
  }
  return out;
}

// ---- JPEG

class Jpeg {
 public:
  Jpeg(const std::string& file, std::string_view bytes)
      : file_(file),
        bytes_(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()),
        handle_(tjInitDecompress(), tjDestroy) {
    if (handle_ == nullptr) throw Error("libturbojpeg does not start: no memory");
    int colors = 0, subsampling = 0;
    if (tjDecompressHeader3(handle_.get(), bytes_.data(), bytes_.size(), &width_, &height_,
                            &subsampling, &colors) != 0) {
      wrong(file, "is no readable JPEG: " + reason());
    }
    if (colors == TJCS_CMYK || colors == TJCS_YCCK) {
      wrong(file, "has four colors (CMYK)", "convert it to RGB");
    }
    check_size(file, width_, height_);
    channels_ = colors == TJCS_GRAY ? 1 : 3;
  }

  Pixels header() const { return {height_, width_, channels_, {}}; }

  Pixels read() const {
    Pixels image = header();
    image.values.resize(static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_) *
                        static_cast<std::size_t>(channels_));
    // A cut file is a warning of the library, which fills the rest with gray.
    const int status = tjDecompress2(
        handle_.get(), bytes_.data(), bytes_.size(), image.values.data(), width_, 0, height_,
        channels_ == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING);
    if (status != 0) wrong(file_, "is cut or damaged: " + reason());
    return image;
  }

 private:
  std::string reason() const { return tjGetErrorStr2(handle_.get()); }

  const std::string& file_;
  std::span<const unsigned char> bytes_;
  std::unique_ptr<void, int (*)(void*)> handle_;
  int width_ = 0, height_ = 0, channels_ = 0;
};

// ---- PNG

class Png {
 public:
  Png(const std::string& file, std::string_view bytes)
      : file_(file), context_(spng_ctx_new(0), spng_ctx_free) {
    if (context_ == nullptr) throw Error("libspng does not start: no memory");
    check(spng_set_png_buffer(context_.get(), bytes.data(), bytes.size()));
    // The library would only warn of some wrong sums.
    check(spng_set_crc_action(context_.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR));
    check(spng_get_ihdr(context_.get(), &header_));
    check_size(file, header_.width, header_.height);
    if (header_.bit_depth > 8) {
      wrong(file, "has " + std::to_string(header_.bit_depth) + " bits a channel",
            "convert it to 8 bits, or to a NumPy file for data/Npy");
    }
  }

  Pixels header() const {
    const bool is_gray = header_.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
                         header_.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
    return {header_.height, header_.width, is_gray ? 1 : 3, {}};
  }

  Pixels read() const {
    Pixels image = header();
    constexpr int kFormat = SPNG_FMT_RGBA8;
    std::size_t size = 0;
    check(spng_decoded_image_size(context_.get(), kFormat, &size));
    std::vector<std::uint8_t> rgba(size);
    check(spng_decode_image(context_.get(), rgba.data(), rgba.size(), kFormat, SPNG_DECODE_TRNS));
    check(spng_decode_chunks(context_.get()));
    image.values.reserve(rgba.size() / 4 * static_cast<std::size_t>(image.channels));
    for (std::size_t i = 0; i < rgba.size(); i += 4) {
      if (rgba[i + 3] != 255) {
        wrong(file_, "has pixels that are not opaque", "save it without transparency");
      }
      image.values.insert(image.values.end(), rgba.begin() + static_cast<std::ptrdiff_t>(i),
                          rgba.begin() + static_cast<std::ptrdiff_t>(i) + image.channels);
    }
    return image;
  }

 private:
  void check(int status) const {
    if (status == 0) return;
    wrong(file_, std::string("is no readable PNG: ") + spng_strerror(status));
  }

  const std::string& file_;
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  spng_ihdr header_{};
};

// Calls read(Jpeg) or read(Png), as the first bytes say.
template <class Read>
Pixels opened(const std::string& file, std::string_view bytes, const Read& read) {
  if (bytes.starts_with("\xff\xd8\xff")) return read(Jpeg(file, bytes));
  if (bytes.starts_with("\x89PNG")) return read(Png(file, bytes));
  wrong(file, bytes.empty() ? "is empty" : "is neither a JPEG nor a PNG file");
}

}  // namespace

bool is_image_name(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

Pixels decode_image(const std::string& name, std::string_view bytes, std::int64_t channels) {
  return with_channels(opened(name, bytes, [](const auto& image) { return image.read(); }),
                       channels);
}

Pixels decode_image_header(const std::string& name, std::string_view bytes) {
  return opened(name, bytes, [](const auto& image) { return image.header(); });
}

Pixels read_image(const std::string& file, std::int64_t channels) {
  return decode_image(file, input_text(file, kMostFileBytes), channels);
}

Pixels read_image_header(const std::string& file) {
  return decode_image_header(file, input_text(file, kMostFileBytes));
}

}  // namespace trivet::data
