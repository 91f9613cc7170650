// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/pair_merges.h"

#include <queue>
#include <tuple>

namespace trivet::tokenizers {
namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

// A token of the word. After a merge into its left neighbor it has the id -1.
struct WordPart {
  std::int32_t id;
  std::size_t before, next;
};

// Two parts that may be merged, as they were when they were found.
struct Candidate {
  std::int32_t rank;
  std::size_t position;
  std::int32_t left, right, token;

  bool operator<(const Candidate& other) const {
    return std::tie(other.rank, other.position) < std::tie(rank, position);
  }
};

}  // namespace

bool PairMerges::add(std::int32_t left, std::int32_t right, std::int32_t token) {
  const auto rank = static_cast<std::int32_t>(merges_.size());
  return merges_.emplace(pair_key(left, right), Merge{rank, token}).second;
}

const PairMerges::Merge* PairMerges::find(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void PairMerges::apply(const std::vector<std::int32_t>& tokens,
                       std::vector<std::int32_t>& ids) const {
  std::vector<WordPart> parts;
  parts.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) parts.push_back({tokens[i], i - 1, i + 1});

  std::priority_queue<Candidate> candidates;
  const auto offer = [&](std::size_t position) {
    const std::size_t next = parts[position].next;
    if (next >= parts.size()) return;
    if (const Merge* merge = find(parts[position].id, parts[next].id)) {
      candidates.push({merge->rank, position, parts[position].id, parts[next].id, merge->token});
    }
  };
  for (std::size_t i = 0; i < parts.size(); ++i) offer(i);

  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    WordPart& left = parts[best.position];
    if (left.id != best.left || left.next >= parts.size()) continue;
    WordPart& right = parts[left.next];
    if (right.id != best.right) continue;
    left.id = best.token;
    right.id = -1;
    left.next = right.next;
    if (left.next < parts.size()) parts[left.next].before = best.position;
    if (left.before < parts.size()) offer(left.before);
    offer(best.position);
  }
  for (std::size_t i = 0; i < parts.size(); i = parts[i].next) ids.push_back(parts[i].id);
}

}  // namespace trivet::tokenizers
