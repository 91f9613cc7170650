// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/bpe_merges.h"

#include <queue>
#include <tuple>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

// A token of the word. After a merge into its left neighbor it has the id -1.
struct Piece {
  std::int32_t id;
  std::size_t before, next;
};

// Two pieces that may be merged, as they were when they were found.
struct Candidate {
  std::int32_t rank;
  std::size_t position;
  std::int32_t left, right, token;

  bool operator<(const Candidate& other) const {
    return std::tie(other.rank, other.position) < std::tie(rank, position);
  }
};

}  // namespace

BpeMerges::BpeMerges(const BpeVocabulary& vocabulary) {
  const TokenIds ids(vocabulary);
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    bytes_[byte] = ids.find(std::string(1, static_cast<char>(byte))).value_or(-1);
  }
  unknown_ = vocabulary.unknown.value_or(-1);
  merges_.reserve(vocabulary.merges.size());
  std::int32_t rank = 0;
  for (const auto& [left, right] : vocabulary.merges) {
    const std::string whole = vocabulary.tokens[static_cast<std::size_t>(left)] +
                              vocabulary.tokens[static_cast<std::size_t>(right)];
    merges_.emplace(pair_key(left, right), Merge{rank++, ids.find(whole).value()});
  }
}

const BpeMerges::Merge* BpeMerges::find(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::int32_t BpeMerges::byte_id(unsigned char byte) const {
  if (bytes_[byte] >= 0) return bytes_[byte];
  if (unknown_ >= 0) return unknown_;
  throw InputError(
      fmt::format("the vocabulary has no token for the byte 0x{:02X}", byte),
      {.hint = "the vocabulary lacks part of the byte alphabet and has no unknown token"});
}

void BpeMerges::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  std::vector<Piece> pieces;
  pieces.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    pieces.push_back({byte_id(static_cast<unsigned char>(word[i])), i - 1, i + 1});
  }

  std::priority_queue<Candidate> candidates;
  const auto offer = [&](std::size_t position) {
    const std::size_t next = pieces[position].next;
    if (next >= pieces.size()) return;
    if (const Merge* merge = find(pieces[position].id, pieces[next].id)) {
      candidates.push({merge->rank, position, pieces[position].id, pieces[next].id, merge->token});
    }
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) offer(i);

  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Piece& left = pieces[best.position];
    if (left.id != best.left || left.next >= pieces.size()) continue;
    Piece& right = pieces[left.next];
    if (right.id != best.right) continue;
    left.id = best.token;
    right.id = -1;
    left.next = right.next;
    if (left.next < pieces.size()) pieces[left.next].before = best.position;
    if (left.before < pieces.size()) offer(left.before);
    offer(best.position);
  }
  for (std::size_t i = 0; i < pieces.size(); i = pieces[i].next) ids.push_back(pieces[i].id);
}

}  // namespace trivet::tokenizers
