// SPDX-License-Identifier: Apache-2.0
#include "data/formats/input_bytes.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "trivet/error.h"
#include "trivet/os/input_file.h"

namespace trivet::data {

Memory read_input(const std::string& file, std::uint64_t limit) {
  Memory bytes = Memory::read(file, limit);
  if (compression_of(bytes.bytes()) == Compression::none) return bytes;
  InputFile input(bytes.bytes(), file);
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  Memory contents = Memory::allocate(std::max(kLeast, 4 * bytes.size()), file);
  std::uint64_t size = 0;
  for (;;) {
    const std::span<char> room(reinterpret_cast<char*>(contents.data()) + size,
                               static_cast<std::size_t>(contents.size() - size));
    size += input.read(room);
    if (size > limit) {
      throw InputError(file + ": has more than limit = " + std::to_string(limit) +
                       " bytes when decompressed");
    }
    if (size < contents.size()) break;
    contents.resize(2 * size, file);
  }
  contents.resize(size, file);
  return contents;
}

Memory read_input(const std::string& file) {
  return read_input(file, std::numeric_limits<std::uint64_t>::max());
}

MappedInput map_input(const std::string& file, std::uint64_t limit) {
  MappedInput input{.memory = Memory::map(file)};
  if (compression_of(input.memory.bytes()) == Compression::none) return input;
  input.memory = read_input(file, limit);
  input.decompressed = input.memory.size();
  return input;
}

}  // namespace trivet::data
