// SPDX-License-Identifier: Apache-2.0
// The unigram language model of SentencePiece (Kudo 2018): of all sequences of tokens that make the
// piece, the one with the highest sum of log-probabilities (Viterbi). A character without a token
// costs 10 more than the least likely token; unknown characters in a row are one token, or the
// tokens of their bytes with byte_fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "tokenizers/models/token_model.h"

namespace trivet::tokenizers {

class Unigram final : public TokenModel {
 public:
  explicit Unigram(const JsonPart& part);
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;
  void encode_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const override;

 private:
  Unigram(const JsonPart& part, ModelTokens tokens);
  void add_to_trie(std::string_view token, std::int32_t id);
  void append(std::string_view text, std::vector<std::int32_t>& ids) const;

  // The best way to a position in a piece.
  struct Way {
    double score = 0;
    std::int32_t id = -1;
    std::optional<std::size_t> from{};
  };
  std::vector<Way> best_ways(std::string_view piece) const;

  bool byte_fallback_;
  double unknown_score_ = 0;
  std::vector<double> scores_;                                     // by id
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> nodes_;  // by parent and byte
  std::vector<std::int32_t> node_ids_{-1};                         // by node; -1: no token
};

}  // namespace trivet::tokenizers
