// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG and PNG files to bytes [height, width, channels].
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::data {

struct Pixels {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> values;  // row-major
};

// Whether the name ends in .jpg, .jpeg or .png, in any case.
bool is_image_name(const std::filesystem::path& file);

// Channels: 1 gray, 3 RGB, 0 those of the file. RGB becomes gray as 0.299 R + 0.587 G + 0.114 B,
// rounded; gray becomes three equal channels. Throws InputError with the file for what is no JPEG
// or PNG, is cut or damaged, has more than 2^27 pixels, more than 8 bits a channel, four colors
// (CMYK), or pixels that are not opaque.
Pixels read_image(const std::string& file, std::int64_t channels);

// Size and channels of the file, from its header. Throws as read_image.
Pixels read_image_header(const std::string& file);

// The same of the bytes of a file; `name` is for messages.
Pixels decode_image(const std::string& name, std::string_view bytes, std::int64_t channels);
Pixels decode_image_header(const std::string& name, std::string_view bytes);

}  // namespace trivet::data
