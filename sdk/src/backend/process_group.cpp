// SPDX-License-Identifier: Apache-2.0
#include "trivet/backend/process_group.h"

#include <algorithm>

namespace trivet {

ProcessGroup::~ProcessGroup() = default;

// Calls take equal sizes, so that all first learn the largest.
std::vector<std::string> all_gather_text(ProcessGroup& group, const std::string& mine) {
  const auto count = static_cast<std::size_t>(group.size());
  const std::uint64_t own = mine.size();
  std::vector<std::uint64_t> sizes(count);
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(sizes)));
  const std::size_t largest = *std::ranges::max_element(sizes);
  std::string padded = mine, all(largest * count, '\0');
  padded.resize(largest);
  group.all_gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(all.substr(i * largest, sizes[i]));
  return texts;
}

std::string broadcast_text(ProcessGroup& group, std::string text) {
  std::uint64_t size = text.size();
  group.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(size);
  group.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

}  // namespace trivet
