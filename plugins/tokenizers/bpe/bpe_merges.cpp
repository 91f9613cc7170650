// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/bpe_merges.h"

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet::tokenizers {
BpeMerges::BpeMerges(const BpeVocabulary& vocabulary) {
  const TokenIds ids(vocabulary);
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    bytes_[byte] = ids.find(std::string(1, static_cast<char>(byte))).value_or(-1);
  }
  unknown_ = vocabulary.unknown.value_or(-1);
  merges_.reserve(vocabulary.merges.size());
  for (const auto& [left, right] : vocabulary.merges) {
    const std::string whole = vocabulary.tokens[static_cast<std::size_t>(left)] +
                              vocabulary.tokens[static_cast<std::size_t>(right)];
    merges_.add(left, right, ids.find(whole).value());
  }
}

std::int32_t BpeMerges::byte_id(unsigned char byte) const {
  if (bytes_[byte] >= 0) return bytes_[byte];
  if (unknown_ >= 0) return unknown_;
  throw InputError(
      fmt::format("the vocabulary has no token for the byte 0x{:02X}", byte),
      {.hint = "the vocabulary lacks part of the byte alphabet and has no unknown token"});
}

void BpeMerges::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  std::vector<std::int32_t> bytes;
  bytes.reserve(word.size());
  for (const char byte : word) bytes.push_back(byte_id(static_cast<unsigned char>(byte)));
  merges_.apply(bytes, ids);
}

}  // namespace trivet::tokenizers
