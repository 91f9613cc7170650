// SPDX-License-Identifier: Apache-2.0
// Data files in memory: read or mapped, decompressed if they are gzip or zstd
// (trivet/os/input_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/formats/memory.h"

namespace trivet::data {

// Returns a copy of the decompressed file, so that an edit of the file cannot crash the run. Empty
// if the contents are empty. Throws InputError as Memory::read does, and for more than `limit`
// bytes.
Memory read_input(const std::string& file, std::uint64_t limit);
Memory read_input(const std::string& file);  // without a limit

// A plain file is mapped, and must not shrink while it is; a compressed one is read_input().
struct MappedInput {
  Memory memory;
  std::uint64_t decompressed = 0;  // bytes of `memory` that are no mapping
};
// Throws InputError as Memory::map and read_input do.
MappedInput map_input(const std::string& file, std::uint64_t limit);

inline std::string_view text_in(const Memory& memory) {
  return {reinterpret_cast<const char*>(memory.bytes().data()), memory.bytes().size()};
}

}  // namespace trivet::data
