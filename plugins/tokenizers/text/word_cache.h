// SPDX-License-Identifier: Apache-2.0
// Caches the tokens of earlier words: texts repeat words, and most are short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trivet::tokenizers {

// [any-thread]
class WordCache {
 public:
  // Appends the tokens of the word. Calls `encode(word, ids)` for words that are not cached.
  template <class Encode>
  void append(std::string_view word, std::vector<std::int32_t>& ids, const Encode& encode) {
    if (word.size() > kMaxBytes) return encode(word, ids);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = words_.find(word); found != words_.end()) {
        ids.insert(ids.end(), found->second.begin(), found->second.end());
        return;
      }
    }
    std::vector<std::int32_t> fresh;
    encode(word, fresh);
    ids.insert(ids.end(), fresh.begin(), fresh.end());
    const std::unique_lock lock(mutex_);
    if (words_.size() < kMaxWords) words_.emplace(word, std::move(fresh));
  }

 private:
  // Some 10 MB at most. Frequent words of a large text are among its first words.
  static constexpr std::size_t kMaxWords = 65536, kMaxBytes = 64;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::vector<std::int32_t>, Hash, std::equal_to<>> words_;
};

}  // namespace trivet::tokenizers
