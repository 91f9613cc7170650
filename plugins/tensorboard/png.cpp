// SPDX-License-Identifier: Apache-2.0
#include "png.h"

#include <png.h>

#include <cstring>

#include "trivet/error.h"

namespace trivet::tensorboard {
namespace {

// By number of channels.
constexpr png_uint_32 kFormats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                    PNG_FORMAT_RGBA};
constexpr std::int64_t kMostPixels = 1 << 28;

bool is_whole(const Image& image) {
  if (image.channels < 1 || image.channels > 4) return false;
  if (image.height < 1 || image.width < 1 || image.height > kMostPixels / image.width) return false;
  return static_cast<std::int64_t>(image.pixels.size()) ==
         image.height * image.width * image.channels;
}

}  // namespace

std::string encode_png(const Image& image) {
  if (!is_whole(image)) {
    throw Error("an image of " + std::to_string(image.height) + " x " +
                std::to_string(image.width) + " with " + std::to_string(image.channels) +
                " channels and " + std::to_string(image.pixels.size()) + " bytes is invalid");
  }
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = kFormats[image.channels];
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(png), '\0');
  png_alloc_size_t size = bytes.size();
  const int done =
      png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr);
  if (done == 0) throw Error(std::string("libpng cannot encode an image: ") + png.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace trivet::tensorboard
