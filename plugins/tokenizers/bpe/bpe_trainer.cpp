// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <fmt/core.h>

#include "tokenizers/text/byte_characters.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

struct Word {
  std::vector<std::int32_t> ids;
  std::int64_t count;
};

struct PairInfo {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words{};  // that may contain it, some twice
};

struct PairCandidate {
  std::int64_t count;
  Pair pair;

  bool operator<(const PairCandidate& other) const {
    return std::tie(count, other.pair) < std::tie(other.count, pair);
  }
};

// All bytes, in the order of their characters.
std::vector<std::string> alphabet() {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  // UTF-8 sorts as its code points do.
  std::sort(bytes.begin(), bytes.end(), [](const std::string& a, const std::string& b) {
    return characters_of_bytes(a) < characters_of_bytes(b);
  });
  return bytes;
}

constexpr std::int32_t kAll = -1;

class Trainer {
 public:
  Trainer(const std::vector<std::pair<std::string, std::int64_t>>& words,
          const BpeTraining& training)
      : training_(training) {
    for (const std::string& content : training.special_tokens) {
      vocabulary_.added.push_back({add_token(content), content, true});
      if (const auto bytes = bytes_of_characters(content)) taken_.insert(*bytes);
    }
    std::array<std::int32_t, 256> byte_ids{};
    for (const std::string& byte : alphabet()) {
      byte_ids[static_cast<unsigned char>(byte[0])] = add_token(byte);
    }
    for (const auto& [text, count] : words) {
      Word word{{}, count};
      for (const char byte : text) word.ids.push_back(byte_ids[static_cast<unsigned char>(byte)]);
      words_.push_back(std::move(word));
    }
  }

  BpeVocabulary train() {
    for (std::uint32_t i = 0; i < words_.size(); ++i) count_pairs(i, 1, kAll);
    for (const Pair& pair : std::exchange(changed_, {})) offer(pair);
    while (std::ssize(vocabulary_.tokens) < training_.vocabulary_size) {
      const auto best = next();
      if (!best) break;
      merge(*best);
    }
    return std::move(vocabulary_);
  }

 private:
  std::int32_t add_token(const std::string& bytes) {
    vocabulary_.tokens.push_back(bytes);
    return static_cast<std::int32_t>(vocabulary_.tokens.size() - 1);
  }

  // Adds a word's pairs to the counts (`sign` = 1) or subtracts them (-1). When adding, the word is
  // recorded for pairs with the token `made`, or for all pairs.
  void count_pairs(std::uint32_t position, int sign, std::int32_t made) {
    const Word& word = words_[position];
    for (std::size_t i = 0; i + 1 < word.ids.size(); ++i) {
      const Pair pair{word.ids[i], word.ids[i + 1]};
      PairInfo& info = pairs_[pair];
      info.count += sign * word.count;
      changed_.insert(pair);
      const bool listed = sign < 0 || (!info.words.empty() && info.words.back() == position);
      if (!listed && (made == kAll || pair.first == made || pair.second == made)) {
        info.words.push_back(position);
      }
    }
  }

  void offer(const Pair& pair) {
    const std::int64_t count = pairs_[pair].count;
    if (count >= std::max<std::int64_t>(training_.min_frequency, 1)) {
      candidates_.push({count, pair});
    } else if (count == 0) {
      pairs_.erase(pair);
    }
  }

  // A candidate whose count has changed has been offered again.
  std::optional<Pair> next() {
    while (!candidates_.empty()) {
      const PairCandidate best = candidates_.top();
      candidates_.pop();
      const auto found = pairs_.find(best.pair);
      if (found != pairs_.end() && found->second.count == best.count) return best.pair;
    }
    return std::nullopt;
  }

  void merge(const Pair& pair) {
    const std::string bytes = vocabulary_.tokens[static_cast<std::size_t>(pair.first)] +
                              vocabulary_.tokens[static_cast<std::size_t>(pair.second)];
    if (taken_.contains(bytes)) return;
    // Another merge may have made the same bytes before.
    const auto [made, fresh] = made_.try_emplace(bytes, 0);
    if (fresh) made->second = add_token(bytes);
    vocabulary_.merges.push_back(pair);
    const std::vector<std::uint32_t> positions = pairs_[pair].words;
    for (const std::uint32_t position : positions) {
      count_pairs(position, -1, kAll);
      replace(words_[position].ids, pair, made->second);
      count_pairs(position, 1, made->second);
    }
    for (const Pair& other : std::exchange(changed_, {})) offer(other);
  }

  static void replace(std::vector<std::int32_t>& ids, const Pair& pair, std::int32_t token) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < ids.size(); ++i, ++to) {
      const bool here = i + 1 < ids.size() && ids[i] == pair.first && ids[i + 1] == pair.second;
      ids[to] = here ? token : ids[i];
      i += here ? 1 : 0;
    }
    ids.resize(to);
  }

  const BpeTraining& training_;
  BpeVocabulary vocabulary_;
  std::vector<Word> words_;
  boost::unordered_flat_map<Pair, PairInfo> pairs_;
  boost::unordered_flat_set<Pair> changed_;  // since the last offer
  std::priority_queue<PairCandidate> candidates_;
  std::unordered_map<std::string, std::int32_t> made_;  // tokens made by merges
  std::set<std::string> taken_;  // bytes whose characters equal the name of a special token
};

}  // namespace

void check_training(const BpeTraining& training) {
  std::set<std::string> seen;
  for (const std::string& token : training.special_tokens) {
    const auto bytes = bytes_of_characters(token);
    const char* fault = token.empty()                           ? "is empty"
                        : find_invalid_utf8(token)              ? "is not UTF-8"
                        : token.find('\n') != std::string::npos ? "has a line end"
                        : bytes && bytes->size() == 1           ? "is the name of a byte"
                        : !seen.insert(token).second            ? "occurs twice"
                                                                : nullptr;
    if (fault != nullptr) throw UsageError("the special token \"" + token + "\" " + fault);
  }
  const auto least = 256 + std::ssize(training.special_tokens);
  if (training.vocabulary_size < least ||
      training.vocabulary_size > std::numeric_limits<std::int32_t>::max()) {
    throw UsageError(
        fmt::format("a vocabulary of {} tokens is impossible", training.vocabulary_size),
        {.hint = fmt::format("the minimum is {}: the 256 bytes and the special "
                             "tokens",
                             least)});
  }
}

BpeVocabulary train_bpe(const std::vector<std::pair<std::string, std::int64_t>>& words,
                        const BpeTraining& training) {
  check_training(training);
  return Trainer(words, training).train();
}

}  // namespace trivet::tokenizers
