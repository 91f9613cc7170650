// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a file from its end, without reading earlier parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trivet/os/file.h"

namespace trivet {

// trivet writes no longer lines.
inline constexpr std::size_t kLongestLine = 16u << 20;

class ReverseLineReader {
 public:
  // Reads the first `size` bytes of a file that is open for reading and must outlive this object.
  ReverseLineReader(const UniqueFd& file, std::filesystem::path path, std::uint64_t size);

  // Returns false at the start of the file. `start` is the offset of the line. Lines are returned
  // without their end; the last line may lack one. Throws RunError if the file cannot be read, is
  // shorter than `size`, or has a line of more than 16 MiB, which trivet never writes.
  bool next(std::string& line, std::uint64_t& start);

 private:
  std::size_t last_break(std::size_t end) const;
  std::size_t read_more();

  const UniqueFd& file_;
  std::filesystem::path path_;
  std::uint64_t offset_;  // offset of text_ in the file
  std::string text_;
};

}  // namespace trivet
