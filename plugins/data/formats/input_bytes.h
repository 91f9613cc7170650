// SPDX-License-Identifier: Apache-2.0
// Reads a data file into memory, decompressed (trivet/os/input_file.h).
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

inline std::string_view text_in(const Memory& memory) {
  return {reinterpret_cast<const char*>(memory.bytes().data()), memory.bytes().size()};
}

}  // namespace trivet::data
