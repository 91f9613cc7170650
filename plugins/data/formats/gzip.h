// SPDX-License-Identifier: Apache-2.0
// Reads gzip files (RFC 1952) whose decompressed size is known, so a small file cannot exhaust
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/formats/memory.h"

namespace trivet::data {

bool is_gzip(std::span<const std::uint8_t> file);

// Returns the first `size` decompressed bytes, or fewer if the file ends or is damaged earlier.
std::vector<std::uint8_t> gunzip_front(std::span<const std::uint8_t> file, std::size_t size);

// Decompresses the whole file to exactly `size` bytes. Several members in a row form one text, as
// the gzip format defines. Throws InputError with `name` and the location if the data is damaged,
// truncated, of another size, or followed by other data.
Memory gunzip(std::span<const std::uint8_t> file, std::uint64_t size, const std::string& name);

}  // namespace trivet::data
