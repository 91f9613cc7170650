// SPDX-License-Identifier: Apache-2.0
// The contents of a file of data, in memory and decompressed (trivet/os/input_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/formats/memory.h"

namespace trivet::data {

// A copy of all of it, so that whoever edits the file meanwhile does not crash the run; nothing of
// it where the contents are empty. Throws InputError as Memory::read does, and for contents of more
// than `limit` bytes.
Memory read_input(const std::string& file, std::uint64_t limit);
Memory read_input(const std::string& file);  // of any size

inline std::string_view text_in(const Memory& memory) {
  return {reinterpret_cast<const char*>(memory.bytes().data()), memory.bytes().size()};
}

}  // namespace trivet::data
