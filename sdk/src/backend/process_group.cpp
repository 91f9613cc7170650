// SPDX-License-Identifier: Apache-2.0
#include "trivet/backend/process_group.h"

#include <algorithm>

namespace trivet {

namespace {

class Ended final : public Transfer {
 public:
  void wait() override {}
  bool has_ended() override { return true; }
};

}  // namespace

Transfer::~Transfer() = default;
bool Transfer::has_ended() {
  return false;
}
Relay::~Relay() = default;
ProcessGroup::~ProcessGroup() = default;

ExchangeLog* ProcessGroup::exchange_log() {
  return nullptr;
}

// For groups that move only what lies together.
void ProcessGroup::exchange(std::span<const std::span<const std::byte>> mine,
                            std::span<const std::span<std::byte>> theirs) {
  const auto own = static_cast<std::size_t>(rank());
  std::vector<std::byte> sent;
  std::vector<std::uint64_t> to, from;
  std::size_t size = 0;
  for (std::size_t r = 0; r < mine.size(); ++r) {
    to.push_back(r != own ? mine[r].size() : 0);
    from.push_back(r != own ? theirs[r].size() : 0);
    if (r != own) sent.insert(sent.end(), mine[r].begin(), mine[r].end());
    size += from.back();
  }
  std::vector<std::byte> received(size);
  all_to_all(sent, to, received, from);
  auto next = received.begin();
  for (std::size_t r = 0; r < theirs.size(); ++r) {
    const auto end = next + static_cast<std::ptrdiff_t>(from[r]);
    std::copy(next, end, theirs[r].begin());
    next = end;
  }
}

std::unique_ptr<Transfer> ProcessGroup::start_exchange(
    std::span<const std::span<const std::byte>> mine,
    std::span<const std::span<std::byte>> theirs) {
  exchange(mine, theirs);
  return std::make_unique<Ended>();
}

void ProcessGroup::call_while_waiting(std::weak_ptr<Relay>) {}

// Calls take equal sizes, so that all first learn the largest.
std::vector<std::string> all_gather_text(ProcessGroup& group, const std::string& mine) {
  const auto count = static_cast<std::size_t>(group.size());
  const std::uint64_t own = mine.size();
  std::vector<std::uint64_t> sizes(count);
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(sizes)));
  const std::size_t largest = *std::ranges::max_element(sizes);
  if (largest == 0) return std::vector<std::string>(count);
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
