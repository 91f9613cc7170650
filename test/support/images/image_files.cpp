// SPDX-License-Identifier: Apache-2.0
#include "support/images/image_files.h"

#include <spng.h>
#include <turbojpeg.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace trivet::test {

std::string jpeg_file(std::span<const std::uint8_t> pixels, const ImageSize& size, int quality) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long length = 0;
  const bool is_gray = size.channels == 1;
  const int status = tjCompress2(handle.get(), pixels.data(), size.width, 0, size.height,
                                 is_gray ? TJPF_GRAY : TJPF_RGB, &bytes, &length,
                                 is_gray ? TJSAMP_GRAY : TJSAMP_444, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  if (status != 0) throw std::runtime_error(tjGetErrorStr2(handle.get()));
  return {reinterpret_cast<const char*>(bytes), length};
}

std::string png_file(std::span<const std::uint8_t> pixels, const ImageSize& size, int bits) {
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(SPNG_CTX_ENCODER),
                                                               spng_ctx_free);
  constexpr std::uint8_t kTypes[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                     SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  spng_ihdr header{};
  header.width = static_cast<std::uint32_t>(size.width);
  header.height = static_cast<std::uint32_t>(size.height);
  header.color_type = kTypes[size.channels - 1];
  header.bit_depth = static_cast<std::uint8_t>(bits);
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_set_ihdr(context.get(), &header);
  int status = spng_encode_image(context.get(), pixels.data(), pixels.size(), SPNG_FMT_PNG,
                                 SPNG_ENCODE_FINALIZE);
  std::size_t length = 0;
  const std::unique_ptr<void, void (*)(void*)> bytes(
      spng_get_png_buffer(context.get(), &length, &status), std::free);
  if (bytes == nullptr) throw std::runtime_error(spng_strerror(status));
  return {static_cast<const char*>(bytes.get()), length};
}

}  // namespace trivet::test
