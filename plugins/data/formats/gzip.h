// SPDX-License-Identifier: Apache-2.0
// gzip files (RFC 1952) of a size that is known beforehand, so that nothing can blow up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/formats/memory.h"

namespace trivet::data {

bool is_gzip(std::span<const std::uint8_t> file);

// The first `size` bytes that the file decompresses to, fewer where it ends or is damaged before.
std::vector<std::uint8_t> gunzip_front(std::span<const std::uint8_t> file, std::size_t size);

// All of it, which must be exactly `size` bytes. Several members in a row are one text, as gzip has
// it. Throws InputError naming `name` and the location for data that is damaged, cut, longer or
// shorter, or has something else behind its end.
Memory gunzip(std::span<const std::uint8_t> file, std::uint64_t size, const std::string& name);

}  // namespace trivet::data
