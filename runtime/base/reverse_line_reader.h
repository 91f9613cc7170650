// SPDX-License-Identifier: Apache-2.0
// The lines of a file from its end, without reading what comes before them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trivet/os/file.h"

namespace trivet {

// No file of lines of ours has a longer one.
inline constexpr std::size_t kLongestLine = 16u << 20;

class ReverseLineReader {
 public:
  // The first `size` bytes of a file that is open for reading and outlives this object.
  ReverseLineReader(const UniqueFd& file, std::filesystem::path path, std::uint64_t size);

  // False at the start of the file. `start` is where the line begins; an unfinished last line comes
  // without its end, as any other. Throws RunError when the file cannot be read, is shorter than
  // was said, or has a line of more than 16 MiB, which no file of lines of ours has.
  bool next(std::string& line, std::uint64_t& start);

 private:
  std::size_t last_break(std::size_t end) const;
  std::size_t read_more();

  const UniqueFd& file_;
  std::filesystem::path path_;
  std::uint64_t offset_;  // of text_ in the file
  std::string text_;
};

}  // namespace trivet
