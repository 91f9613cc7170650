// SPDX-License-Identifier: Apache-2.0
#include "base/reverse_line_reader.h"

#include <algorithm>
#include <utility>

#include "trivet/error.h"

namespace trivet {
ReverseLineReader::ReverseLineReader(const UniqueFd& file, std::filesystem::path path,
                                     std::uint64_t size)
    : file_(file), path_(std::move(path)), offset_(size) {}

bool ReverseLineReader::next(std::string& line, std::uint64_t& start) {
  if (text_.empty() && offset_ == 0) return false;
  if (text_.empty()) read_more();
  std::size_t end = text_.size() - (text_.back() == '\n' ? 1 : 0);
  std::size_t break_before = last_break(end);
  while (break_before == std::string::npos && offset_ > 0) {
    end += read_more();
    break_before = last_break(end);
  }
  const std::size_t first = break_before == std::string::npos ? 0 : break_before + 1;
  line = text_.substr(first, end - first);
  text_.resize(first);
  start = offset_ + first;
  return true;
}

std::size_t ReverseLineReader::last_break(std::size_t end) const {
  return end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
}

std::size_t ReverseLineReader::read_more() {
  if (text_.size() > kLongestLine) {
    throw RunError(path_.string() + " has a line of more than 16 MiB",
                   {.hint = "trivet did not write this file; move it away"});
  }
  const std::uint64_t count = std::min<std::uint64_t>(offset_, 1 << 16);
  offset_ -= count;
  text_.insert(0, read_part(file_, offset_, count, path_));
  return count;
}

}  // namespace trivet
